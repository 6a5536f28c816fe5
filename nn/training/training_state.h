// What a training reads of its own checkpoint, and whether a training can have written it.
#pragma once

#include "core/safetensors.h"
#include "nn/training/checkpoint.h"

namespace nine {

/// Checks that a training can have written the checkpoint's state. Error, which names state.json,
/// the key, its value and what was expected: no training's state (a mean of checkpoints has none),
/// or a value that no training writes.
void require_training_state(const Checkpoint& checkpoint);

/// Returns the checkpoint's weights. Errors: require_training_state()'s; with file, tensor and the
/// first index, a number that is not finite.
Safetensors read_training_weights(const Checkpoint& checkpoint);

/// Returns the tensors of kOptimizerFile. Error, with file, tensor and the first index: a number
/// that is not finite, a mean of squared gradients below 0.
Safetensors read_optimizer_state(const Checkpoint& checkpoint);

}  // namespace nine
