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
  check("limit of --head-skip", head.loss.skip);
  check("strength of the prior's regulariser", head.loss.prior.strength);
  check("margin", head.loss.margin.size);
  check("strength of the word-norm regulariser", head.norm_reg.strength);
  check("norm of the word-norm regulariser", head.norm_reg.norm);
  check("word norm", head.norms.word.a);
  check("word norm", head.norms.word.b);
  check("context norm", head.norms.context.value);
  return found;
}

StoredType stored_type_of(DType type) {
  return {to_text(type), type == DType::float64 ? 52 : type == DType::bfloat16 ? 7 : 23};
}

std::string bias_misfit(std::span<const double> bias, const StoredType& type) {
  // Numbers of 16 bits lie 1/16 apart where a sound model may have its biases.
  const int apart = type.bits < 16 ? 4 : 16;
  const double bound = std::ldexp(1.0 / apart, type.bits);  // from here on they lie 1/apart apart
  int64_t above = 0, below = 0, others = 0;
  double least = std::numeric_limits<double>::infinity(), largest = -least;
  for (const double b : bias) {
    if (!std::isfinite(b)) continue;
    if (b >= bound) {
      ++above;
      least = std::min(least, b);
    } else if (b <= -bound) {
      ++below;
      largest = std::max(largest, b);
    } else {
      ++others;
    }
  }
  // The words with the largest biases share the probability. One word alone has all of it, whatever
  // the digits are.
  const bool low = above + others <= 1 && below > 1;
  if (above < 2 && !low) return {};
  return concat(low ? below : above, " words have a bias of ", low ? largest : least,
                low ? " or less" : " or more", ", where numbers of ", type.name,
                " lie more than 1/", apart,
                " apart, so that the differences between these words are lost; ",
                low && above + others > 0 ? "to exclude words, give them a bias of -inf"
                                          : "subtract from all biases what they share");
}

}  // namespace nine
