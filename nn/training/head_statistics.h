// What a head adds up in training, as a TrainStep needs it.
#pragma once

#include <vector>

#include "nn/softmax_head.h"
#include "nn/training/mixture_weight_stats.h"
#include "nn/training/train_step.h"

namespace nine {

/// Sums of a mixture's weights (where there are any) and of contexts' norms, and the largest
/// context of training.
inline void add_head_statistics(const SoftmaxHead& head, const MixtureWeightStats& weights,
                                std::vector<StepStatistic>& out) {
  if (weights.sums()) out.push_back({.value = weights.sums()});
  if (const HeadStats* stats = head.stats(); stats != nullptr)
    out.push_back({.value = stats->norm_sums()});
  if (!head.running_contexts()) return;
  const bool average = head.norms().context.kind == ContextNorm::Kind::max_ema;
  out.push_back({.value = head.running_contexts(),
                 .merge = average ? StepStatistic::Merge::average : StepStatistic::Merge::largest,
                 .decay = kNormDecay});
}

}  // namespace nine
