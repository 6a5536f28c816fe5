#include "kernels/expression/expr_score.h"

#include <cmath>

#include "core/error.h"
#include "kernels/expression/formula.h"
#include "kernels/expression/run.h"

namespace nine::scores {
namespace {

using expression::kPairVariables;
using expression::Variable;
using expression::Variables;

template <class T>
using PairRun = expression::Run<T, 1>;  // of one pair

// z / (|w| |h|), within [-1, 1]; 0 where a norm is 0.
template <class T>
T cosine(T z, T ww, T hh) {
  if (!(ww > T(0)) || !(hh > T(0))) return T(0);
  const T c = z * (T(1) / std::sqrt(ww)) * (T(1) / std::sqrt(hh));
  return c > T(1) ? T(1) : c < T(-1) ? T(-1) : c;
}

// The variables as the loops over a product have them.
template <class T>
std::array<T, kPairVariables> of_product(T z, T ww, T hh) {
  const T q = ww + hh - T(2) * z;
  return {z, q < T(0) ? T(0) : q, ww, hh, cosine(z, ww, hh)};
}
// Of two vectors: q is no difference of large numbers.
template <class T>
std::array<double, kPairVariables> of_vectors(const T* w, const T* h, int64_t d) {
  const double ww = square_norm(w, d), hh = square_norm(h, d), z = dot(w, h, d);
  return {z, square_distance(w, h, d), ww, hh, cosine(z, ww, hh)};
}

std::string shown(double x) { return std::isnan(x) ? "nan" : concat(x); }

template <class T>
struct Memory {
  T registers[expression::Operand::kRegisters];
  const T* variables[kPairVariables];
  explicit Memory(const std::array<T, kPairVariables>& values) {
    for (size_t k = 0; k < kPairVariables; ++k) variables[k] = &values[k];
  }
};

}  // namespace

Expr::Expr(const Score& s, int64_t d)
    : formula(s.formula), dims(static_cast<double>(d)), parameters(s.parameters) {
  require(formula != nullptr, "[head] a score of kind expr without a formula");
  formula->constants().compute(dims, parameters, constants);
}

template <class T>
T Expr::value(T z, const T* w, const T* h) const {
  const std::array<T, kPairVariables> at = of_product(z, w[0], h[0]);
  Memory<T> m(at);
  return PairRun<T>(formula->score(), constants, m.variables, 1, m.registers).output_at(0, 0);
}

template <class T>
Slopes<T, Expr::kStats> Expr::slopes(T z, const T* w, const T* h) const {
  const std::array<T, kPairVariables> at = of_product(z, w[0], h[0]);
  Memory<T> m(at);
  const PairRun<T> run(formula->slopes(), constants, m.variables, 1, m.registers);
  return {run.output_at(0, 0), {run.output_at(1, 0)}, {run.output_at(2, 0)}};
}

// With e = w - h: dS/dw = S_z h + 2 S_q e + 2 S_ww w + S_c dc/dw, dc/dw = (h/|h| - c w/|w|)/|w|.
template <class T>
double Expr::exact(const T* w, const T* h, int64_t d, double up, T* dw, T* dh) const {
  const std::array<double, kPairVariables> at = of_vectors(w, h, d);
  Memory<double> m(at);
  if (dw == nullptr && dh == nullptr)
    return PairRun<double>(formula->score(), constants, m.variables, 1, m.registers)
        .output_at(0, 0);
  const PairRun<double> run(formula->exact(), constants, m.variables, 1, m.registers);
  const auto [z, q, ww, hh, c] = at;
  const double by_z = up * run.output_at(1, 0), by_q = q > 0 ? 2 * up * run.output_at(2, 0) : 0,
               by_ww = 2 * up * run.output_at(3, 0), by_hh = 2 * up * run.output_at(4, 0),
               by_c = std::abs(c) < 1 ? up * run.output_at(5, 0) : 0,
               over_w = ww > 0 ? 1 / std::sqrt(ww) : 0, over_h = hh > 0 ? 1 / std::sqrt(hh) : 0;
  // c = 0 where a norm is 0, and has no slope.
  const double turn = by_c * over_w * over_h, of_w = by_ww - by_c * c * over_w * over_w,
               of_h = by_hh - by_c * c * over_h * over_h;
  for (int64_t k = 0; k < d; ++k) {
    const double x = static_cast<double>(w[k]), y = static_cast<double>(h[k]),
                 apart = by_q * (x - y);
    if (dw != nullptr) dw[k] += static_cast<T>((by_z + turn) * y + apart + of_w * x);
    if (dh != nullptr) dh[k] += static_cast<T>((by_z + turn) * x - apart + of_h * y);
  }
  return run.output_at(0, 0);
}

template <class T>
double* Expr::exact_parameter_slopes(const T* w, const T* h, int64_t d, double factor,
                                     double* out) const {
  const expression::Program& program = formula->parameter_slopes();
  const std::array<double, kPairVariables> at = of_vectors(w, h, d);
  Memory<double> m(at);
  const PairRun<double> run(program, constants, m.variables, 1, m.registers);
  for (size_t k = 0; k < program.outputs.size(); ++k) *out++ = factor * run.output_at(k, 0);
  return out;
}

template <class T>
void Expr::refuse(const T* w, const T* h, int64_t d, const std::string& pair, bool slope) const {
  const std::array<double, kPairVariables> of_pair = of_vectors(w, h, d);
  Variables at{};
  std::copy(of_pair.begin(), of_pair.end(), at.begin());
  at[static_cast<size_t>(Variable::d)] = dims;
  for (const double x : of_pair)
    if (!std::isfinite(x)) return;

  const expression::Graph& g = formula->graph();
  const auto roots = formula->roots();
  const auto values =
      expression::evaluate_all(g, *std::max_element(roots.begin(), roots.end()), at, parameters);
  const auto text = [&](expression::Id id) { return to_text(g, id, formula->names()); };
  const std::string whole =
      concat("[kernel_softmax] expr:{", formula->text(), "}: the ",
             slope ? "slope of the score" : "score", " of ", pair, " is not finite");
  for (size_t k = 0; k < roots.size(); ++k) {
    const bool counts =
        slope ? k != 0 && !(k == 2 && of_pair[1] <= 0) && !(k == 5 && std::abs(of_pair[4]) >= 1)
              : k == 0;
    if (!counts || std::isfinite(values[roots[k]])) continue;
    for (const expression::Id id : expression::needed(g, {&roots[k], 1})) {
      const expression::Node& n = g[id];
      std::string arguments;
      bool finite = true;
      for (int a = 0; a < expression::arguments_of(n.op); ++a) {
        const expression::Id arg = n.args[static_cast<size_t>(a)];
        finite = finite && std::isfinite(values[arg]);
        if (!g.is(arg, expression::Op::number))
          arguments +=
              concat(arguments.empty() ? " where " : ", ", text(arg), " = ", shown(values[arg]));
      }
      if (finite && !std::isfinite(values[id]))
        fail(whole, ": ", text(id), " is ", shown(values[id]), arguments);
    }
  }
  std::string variables;
  for (size_t k = 0; k < kPairVariables; ++k)
    if (formula->uses(static_cast<Variable>(k)))
      variables += concat(variables.empty() ? " (" : ", ",
                          expression::name_of(static_cast<Variable>(k)), " = ", of_pair[k]);
  fail(whole, " in the numbers' type, although it is in float64", variables,
       variables.empty() ? "" : ")");
}

#define NINE_EXPR(T)                                                                             \
  template T Expr::value<T>(T, const T*, const T*) const;                                        \
  template Slopes<T, 1> Expr::slopes<T>(T, const T*, const T*) const;                            \
  template double Expr::exact<T>(const T*, const T*, int64_t, double, T*, T*) const;             \
  template double* Expr::exact_parameter_slopes<T>(const T*, const T*, int64_t, double, double*) \
      const;                                                                                     \
  template void Expr::refuse<T>(const T*, const T*, int64_t, const std::string&, bool) const;
NINE_EXPR(float)
NINE_EXPR(double)
#undef NINE_EXPR

}  // namespace nine::scores
