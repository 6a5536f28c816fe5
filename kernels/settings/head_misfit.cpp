#include "kernels/settings/head_misfit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/misfit.h"
#include "kernels/expression/formula.h"

namespace nine {

std::string misfit(const HeadConfig& head, DType type) {
  std::string found;
  const auto check = [&](const std::string& name, double x) {
    if (!found.empty()) return;
    const std::string why = misfit(x, type);
    if (!why.empty()) found = concat(name, ", ", x, ", ", why);
  };
  for (const Score& score : head.spec.components) {
    const KernelInfo kernel = kernel_info(score);
    for (size_t k = 0; k < kernel.parameters.size(); ++k)
      check(concat(kernel.parameters[k].name, " of ", kernel.name), score.parameters[k]);
    check(concat("scale of ", kernel.name), score.scale);
    if (score.kind != ScoreKind::expr) continue;
    const expression::Graph& graph = score.formula->graph();
    const expression::Id root = score.formula->score_id();
    for (const expression::Id id : expression::needed(graph, {&root, 1}))
      if (graph[id].op == expression::Op::number) check("a number of the formula", graph[id].value);
  }
  check("label smoothing", head.loss.smoothing.epsilon);
  check("strength of the prior's regulariser", head.loss.prior.strength);
  check("margin", head.loss.margin.size);
  check("strength of the word-norm regulariser", head.norm_reg.strength);
  check("norm of the word-norm regulariser", head.norm_reg.norm);
  check("word norm", head.norms.word.a);
  check("word norm", head.norms.word.b);
  check("context norm", head.norms.context.value);
  return found;
}

std::string bias_misfit(std::span<const double> bias, DType type) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double b : bias)
    if (std::isfinite(b)) {
      low = std::min(low, b);
      high = std::max(high, b);
    }
  if (!(low <= high) || (low < 0) != (high < 0)) return {};
  const double shared = low < 0 ? high : low;
  const double spacing = type == DType::float64 ? std::numeric_limits<double>::epsilon()
                                                : std::numeric_limits<float>::epsilon();
  if (std::abs(shared) * spacing < 1.0 / 16) return {};
  return concat("every bias is ", shared, low < 0 ? " or less" : " or more", ", where numbers of ",
                type,
                " lie more than 1/16 apart, so that the words' differences are lost; subtract ",
                "from all biases what they share");
}

}  // namespace nine
