#include "kernels/settings/head_misfit.h"

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

}  // namespace nine
