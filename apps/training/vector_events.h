// What the log says at the end about the vectors of a head with a margin or norms.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "apps/training/run_callbacks.h"
#include "nn/softmax_head.h"
#include "nn/training/trainer.h"

namespace nine::app {

/// Words whose norms the log has at most.
inline constexpr int64_t kLoggedWords = 600;

/// Writes the events `word_norms` and, where `evaluate` is given and the head has such angles,
/// `target_angles` (docs/formats.md) of the best model, whose weights the head has. counts: of the
/// words in the training targets. evaluate: computes the loss of the validation text. Nothing for a
/// head without margin and norms.
void log_vectors(const SoftmaxHead& head, std::span<const int64_t> counts, const Checkpoint& best,
                 const Trainer& trainer, RunCallbacks& callbacks,
                 const std::function<void()>& evaluate);

}  // namespace nine::app
