#include "kernels/expression/formula.h"

#include <bit>
#include <cmath>
#include <map>
#include <mutex>

#include "core/error.h"
#include "kernels/expression/pair_slopes.h"
#include "kernels/expression/parse.h"

namespace nine::expression {
namespace {

constexpr size_t kMaxNodes = 20000;  // of a formula with its derivatives

constexpr Variable kByVariables[] = {Variable::z, Variable::q, Variable::ww, Variable::hh,
                                     Variable::c};

// Returns dS/dz, dS/dww, dS/dhh of the pair, from the slopes with respect to z, q, ww, hh and c
// (roots 1 to 5). With q = ww + hh - 2z and c = z / sqrt(ww hh) they are
//   A = S_z - 2 S_q + S_c / (|w| |h|), B = S_ww + S_q - S_c c / (2 ww), and C like B.
std::array<Id, 3> chain(Graph& g, std::span<const Id> roots) {
  const Id zero = g.number(0), one = g.number(1), q = g.variable(Variable::q),
           c = g.variable(Variable::c), ww = g.variable(Variable::ww),
           hh = g.variable(Variable::hh);
  const auto mul = [&](Id a, Id b) { return g.make(Op::multiply, {a, b}); };
  const auto add = [&](Id a, Id b) { return g.make(Op::add, {a, b}); };
  const auto sub = [&](Id a, Id b) { return g.make(Op::subtract, {a, b}); };
  const auto over_norm = [&](Id square) {  // 1 / |x|, 0 where |x| = 0
    return g.make(Op::less,
                  {zero, square, g.make(Op::divide, {one, g.make(Op::sqrt, {square})}), zero});
  };
  const Id by_q = g.make(Op::less, {zero, q, roots[2], zero}),
           by_c = g.make(Op::less, {g.make(Op::abs, {c}), one, roots[5], zero}),
           half_c = mul(g.number(-0.5), mul(by_c, c));
  const auto by_square = [&](Id own, Id square) {
    const Id over = over_norm(square);
    return add(add(own, by_q), mul(half_c, mul(over, over)));
  };
  return {add(sub(roots[1], mul(g.number(2), by_q)), mul(by_c, mul(over_norm(ww), over_norm(hh)))),
          by_square(roots[3], ww), by_square(roots[4], hh)};
}

std::string key_of(std::string_view text, std::span<const double> fixed) {
  std::string key(text);
  for (const double x : fixed) key += concat(':', std::bit_cast<uint64_t>(x));
  return key;
}

}  // namespace

const Formula& Formula::of(std::string_view text, std::span<const double> fixed) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const Formula>>& all =
      *new std::map<std::string, std::unique_ptr<const Formula>>;
  const std::scoped_lock lock(mutex);
  std::unique_ptr<const Formula>& known = all[key_of(without_spaces(text), fixed)];
  if (known == nullptr) known = std::make_unique<const Formula>(text, fixed);
  return *known;
}

Formula::Formula(std::string_view text, std::span<const double> fixed)
    : text_(without_spaces(text)) {
  const Parsed typed = parse(text);
  names_ = typed.parameters;
  for (const std::string& name : names_)
    infos_.push_back({.name = name.c_str(), .meaning = "a number of the formula"});
  uses_ = variables_of(typed.graph, typed.score);
  compile(typed.graph, typed.score, fixed);
}

void Formula::compile(const Graph& typed, Id score, std::span<const double> fixed) {
  PairSlopes of(graph_, typed, score, fixed);
  roots_.push_back(of.score());
  for (const Variable v : kByVariables) roots_.push_back(of.by(v));
  const std::array<Id, 3> slopes = chain(graph_, roots_);
  for (size_t k = 0; k < fixed.size(); ++k)
    if (std::isnan(fixed[k])) by_parameters_.push_back(of.by_parameter(static_cast<int>(k)));
  if (graph_.size() > kMaxNodes)
    throw UsageError(concat("a formula with its derivatives has ", graph_.size(),
                            " parts, more than ", kMaxNodes, ": make it shorter"));
  Compiler compiler(graph_);
  score_ = compiler.compile(std::span(roots_).first(1));
  slopes_ = compiler.compile(slopes);
  exact_ = compiler.compile(roots_);
  parameter_slopes_ = compiler.compile(by_parameters_);
  constants_ = compiler.constants();
}

}  // namespace nine::expression
