// lm_train --export-parity: exports the first steps of a training for a replay in PyTorch
// (experiments/parity-lm.md).
#pragma once

#include "apps/lm_train/lm_options.h"
#include "nn/training/language_model_task.h"

namespace nine::app {

/// Runs `export_steps` updates by the trainer's own step, from the model's present weights. Writes
/// init.safetensors, batches.safetensors, losses.json, final.safetensors and config.json into
/// `export_parity`. UsageError: an option that the replay does not support.
void export_lm_parity(const LmOptions& options, const LanguageNetwork& model,
                      ParameterSet& parameters, LanguageModelTask& task);

}  // namespace nine::app
