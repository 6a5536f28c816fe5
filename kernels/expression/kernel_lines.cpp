#include "kernels/expression/kernel_lines.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "kernels/expression/derivative.h"

namespace nine::expression {
namespace {

const char* const kInputs[] = {"z", "q", "ww", "hh", "c", "lw", "lh"};

// How a kernel of parts combines the scores xi of all pairs to S, as lines and as lines of text.
struct Join {
  KernelLines::Line score, slope;
  const char *score_text = nullptr, *slope_text = nullptr;
};
Join join_of(const KernelExpression& e) {
  if (e.combine == Combine::mixture)
    return {
        {"S", concat("ln(sum(exp(xi))/", e.parts * e.parts, ")"),
         "the logarithm of the mean over all pairs of parts"},
        {"dS/dxi", "exp(xi)/sum(exp(xi))", "chain rule: ln x has the slope 1/x, exp is its own"},
        "log(sum_ij e^xi_ij / C^2), xi = ",
        "dS/dxi = softmax_ij(xi_ij)"};
  return {{"S", "sum(xi)", "over all pairs of parts"},
          {"dS/dxi", "1", "sum rule"},
          "sum_ij xi_ij, xi = ",
          "dS/dxi = 1"};
}

// Returns the rules of a slope, outermost first.
std::string rules_of(const std::vector<Step>& steps, bool within) {
  constexpr std::string_view kChain = "chain rule";
  std::vector<std::string> all;
  for (size_t k = steps.size(); k-- > 0;) {
    std::string rule = steps[k].rule;
    if (rule.starts_with(kChain)) {
      within = true;
      rule.erase(0, kChain.size() + 2);  // ": "
    }
    if (std::find(all.begin(), all.end(), rule) == all.end()) all.push_back(std::move(rule));
  }
  std::string text(within ? kChain : "");
  for (const std::string& rule : all) text += concat(text.empty() ? "" : ", ", rule);
  return text;
}

}  // namespace

KernelLines::KernelLines(KernelExpression expression, std::span<const ParameterInfo> parameters)
    : expression_(std::move(expression)), parameters_(parameters.size()) {
  for (const ParameterInfo& p : parameters) names_.emplace_back(p.name_in_formulas());
  if (expression_.parts > 1) expression_.lines.back().name = "xi";
  for (const ExpressionLine& line : expression_.lines) {
    const Parsed& typed = typed_.emplace_back(parse(line.formula));
    lines_.push_back(rebuild_with(typed.graph, typed.score, graph_, [&](int k) {
      return node_of(typed.parameters[static_cast<size_t>(k)]);
    }));
    index_of(line.name);
  }
  for (size_t k = lines_.size() - 1; k-- > 0;)
    slopes_.push_back(slope_by(expression_.lines[k].name));
  for (const char* input : kInputs)
    if (uses(input)) slopes_.push_back(slope_by(input));
  for (size_t k = 0; k < parameters_; ++k) by_parameters_.push_back(slope_by(names_[k]));
}

int KernelLines::index_of(const std::string& name) {
  const auto index = std::find(names_.begin(), names_.end(), name) - names_.begin();
  if (index == std::ssize(names_)) names_.push_back(name);
  return static_cast<int>(index);
}

Id KernelLines::node_of(const std::string& name) {
  for (int v = 0; v < kVariables; ++v)
    if (name == name_of(static_cast<Variable>(v))) return graph_.variable(static_cast<Variable>(v));
  return graph_.parameter(index_of(name));
}

// Returns the slope of S with respect to `name`: the sum, over the lines that name it, of
// dS/d(line) times the line's own slope.
KernelLines::Slope KernelLines::slope_by(const std::string& name) {
  Slope all{name, {}, graph_.number(0)};
  const Id by = node_of(name);
  for (size_t k = 0; k < lines_.size(); ++k) {
    std::vector<Step> steps;
    const Id own = derivative(graph_, lines_[k], by, &steps);
    if (graph_.is(own, 0)) continue;
    const std::string& line = expression_.lines[k].name;
    const bool is_score = line == "S";
    const Id term = is_score ? own : graph_.make(Op::multiply, {node_of("dS/d" + line), own});
    all.id = graph_.make(Op::add, {all.id, term});
    const std::string rules = steps.empty() && is_score ? concat(line, " is ", name, " itself")
                                                        : rules_of(steps, !is_score);
    if (all.rule.find(rules) == std::string::npos)
      all.rule += concat(all.rule.empty() ? "" : "; ", rules);
  }
  if (all.rule.empty()) all.rule = "constant";
  return all;
}

KernelLines::Line KernelLines::line_of(const Slope& slope, std::span<const double> values) const {
  Graph with_values;
  values = values.first(std::min(values.size(), parameters_));
  const Id id = rebuild(graph_, slope.id, with_values, values);
  // Uses a line's own value, which is already known: exp is its own slope.
  std::map<Id, std::string> known;
  for (size_t k = 0; k < lines_.size(); ++k) {
    const Id line = rebuild(graph_, lines_[k], with_values, values);
    if (arguments_of(with_values[line].op) > 0) known.emplace(line, expression_.lines[k].name);
  }
  return {"dS/d" + slope.by, to_text(with_values, id, names_, known), slope.rule};
}

std::vector<KernelLines::Line> KernelLines::forward(std::span<const double> values) const {
  std::vector<Line> out;
  for (size_t k = 0; k < typed_.size(); ++k) {
    const Parsed& typed = typed_[k];
    std::vector<double> own(typed.parameters.size(), std::numeric_limits<double>::quiet_NaN());
    for (size_t i = 0; i < own.size(); ++i) {
      const auto found = std::find(names_.begin(), names_.end(), typed.parameters[i]);
      const auto index = static_cast<size_t>(found - names_.begin());
      if (index < std::min(parameters_, values.size())) own[i] = values[index];
    }
    Graph as_written(Graph::Simplify::no);
    const Id id = rebuild(typed.graph, typed.score, as_written, own);
    out.push_back({expression_.lines[k].name, to_text(as_written, id, typed.parameters),
                   expression_.lines[k].meaning});
  }
  return out;
}

std::vector<KernelLines::Line> KernelLines::backward(std::span<const double> values) const {
  std::vector<Line> out;
  for (const Slope& slope : slopes_) out.push_back(line_of(slope, values));
  return out;
}

KernelLines::Line KernelLines::joined() const { return join_of(expression_).score; }

KernelLines::Line KernelLines::joined_slope() const { return join_of(expression_).slope; }

KernelLines::Line KernelLines::by_parameter(size_t k, std::span<const double> values) const {
  return line_of(by_parameters_[k], values);
}

bool KernelLines::uses(const std::string& name) const {
  return std::any_of(typed_.begin(), typed_.end(), [&](const Parsed& typed) {
    const auto variables = variables_of(typed.graph, typed.score);
    for (int v = 0; v < kVariables; ++v)
      if (name == name_of(static_cast<Variable>(v))) return variables[static_cast<size_t>(v)];
    return std::find(typed.parameters.begin(), typed.parameters.end(), name) !=
           typed.parameters.end();
  });
}

std::string KernelLines::one_formula() const {
  Graph all(Graph::Simplify::no);
  std::map<std::string, Id> known;
  std::vector<std::string> names;
  for (size_t k = 0; k < typed_.size(); ++k) {
    const Parsed& typed = typed_[k];
    known[expression_.lines[k].name] = rebuild_with(typed.graph, typed.score, all, [&](int i) {
      const std::string& name = typed.parameters[static_cast<size_t>(i)];
      if (const auto line = known.find(name); line != known.end()) return line->second;
      const auto index = std::find(names.begin(), names.end(), name) - names.begin();
      if (index == std::ssize(names)) names.push_back(name);
      return all.parameter(static_cast<int>(index));
    });
  }
  return to_text(all, known.at(expression_.lines.back().name), names);
}

std::string KernelLines::score_text() const {
  const std::vector<Line> lines = forward();
  std::string text =
      (expression_.parts > 1 ? join_of(expression_).score_text : "") + lines.back().formula;
  for (size_t k = 0; k + 1 < lines.size(); ++k)
    text += concat(", ", lines[k].symbol, " = ", lines[k].formula);
  return text;
}

std::string KernelLines::derivative_text() const {
  std::string text = expression_.parts > 1 ? join_of(expression_).slope_text : "";
  for (const Line& line : backward())
    text += concat(text.empty() ? "" : ", ", line.symbol, " = ", line.formula);
  return text.empty() ? "0: S is the same for all words" : text;
}

}  // namespace nine::expression
