#include "kernels/expression/expr_score.h"

#include <cmath>

#include "core/error.h"
#include "kernels/expression/formula.h"

namespace nine::scores {
namespace {

using expression::kPairVariables;
using expression::Variable;
using expression::Variables;

// True if root k of a formula, its score or a slope, is used at a pair. Slopes with respect to q
// and c are not used at q = 0 and at |c| = 1.
bool is_used(size_t k, const double* pair) {
  const auto is_by = [k](Variable v) { return k == 1 + static_cast<size_t>(v); };
  return !(is_by(Variable::q) && pair[1] <= 0) && !(is_by(Variable::c) && std::abs(pair[4]) >= 1);
}

}  // namespace

Expr::Expr(const Score& s, int64_t d)
    : formula(s.formula), dims(static_cast<double>(d)), parameters(s.parameters) {
  require(formula != nullptr, "[head] a score of kind expr without a formula");
  formula->constants().compute(dims, parameters, values_);
  score = expression::ProgramView(formula->score());
  by_vectors = expression::ProgramView(formula->slopes());
  exact_slopes = expression::ProgramView(formula->exact());
  by_parameters = expression::ProgramView(formula->parameter_slopes());
  constants = values_;
  learned = s.learned;
}

template <class T>
bool Expr::finite_slopes(const T* w, const T* h, int64_t d) const {
  const auto [pair] = of_vectors(w, h, d);
  const expression::PairRun<double> run(exact_slopes, constants, pair);
  bool finite = true;
  for (size_t k = 1; k < formula->roots().size(); ++k)
    finite = finite && (!is_used(k, pair) || std::isfinite(run.output(static_cast<int>(k))));
  return finite;
}

template <class T>
void Expr::refuse(const T* w, const T* h, int64_t d, const std::string& pair, bool slope) const {
  const auto [of_pair] = of_vectors(w, h, d);
  Variables at{};
  std::copy(std::begin(of_pair), std::end(of_pair), at.begin());
  at[static_cast<size_t>(Variable::d)] = dims;
  for (const double x : of_pair)
    if (!std::isfinite(x)) return;

  const expression::Graph& g = formula->graph();
  std::vector<expression::Id> roots(formula->roots().begin(), formula->roots().end());
  roots.insert(roots.end(), formula->parameter_roots().begin(), formula->parameter_roots().end());
  const auto values =
      expression::evaluate_all(g, *std::max_element(roots.begin(), roots.end()), at, parameters);
  const auto text = [&](expression::Id id) { return to_text(g, id, formula->names()); };
  const std::string whole =
      concat("[kernel_softmax] expr:{", formula->text(), "}: the ",
             slope ? "slope of the score" : "score", " of ", pair, " is not finite");
  for (size_t k = 0; k < roots.size(); ++k) {
    if (slope != (k > 0) || !is_used(k, of_pair) || std::isfinite(values[roots[k]])) continue;
    for (const expression::Id id : expression::needed(g, {&roots[k], 1})) {
      const expression::Node& n = g[id];
      if (expression::arguments_of(n.op) == 0) continue;  // what a slope is compared with
      std::string arguments;
      bool finite = true;
      for (int a = 0; a < expression::arguments_of(n.op); ++a) {
        const expression::Id arg = n.args[static_cast<size_t>(a)];
        finite = finite && std::isfinite(values[arg]);
        if (!g.is(arg, expression::Op::number))
          arguments += concat(arguments.empty() ? " where " : ", ", text(arg), " = ", values[arg]);
      }
      if (finite && !std::isfinite(values[id]))
        fail(whole, ": ", text(id), " is ", values[id], arguments);
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

#define NINE_EXPR(T)                                                       \
  template bool Expr::finite_slopes<T>(const T*, const T*, int64_t) const; \
  template void Expr::refuse<T>(const T*, const T*, int64_t, const std::string&, bool) const;
NINE_EXPR(float)
NINE_EXPR(double)
#undef NINE_EXPR

}  // namespace nine::scores
