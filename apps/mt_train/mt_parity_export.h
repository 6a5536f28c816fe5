// mt_train --export-parity: the first steps of a training, for replay in PyTorch (docs/formats.md).
#pragma once

#include <string>

#include "apps/mt_train/mt_options.h"
#include "nn/training/translation_task.h"

namespace nine::app {

/// What is exported, for callers without mt_train's options (tests/bench).
struct MtParityExport {
  std::string directory;
  int64_t steps = 20;
  int32_t pad = 1;          ///< what fills up sentences in the batches' ids
  OptimizerConfig adam;     ///< without weight decay
  ScheduleConfig schedule;  ///< constant or inverse-sqrt; each step's rate is written
  double clip = 0;
};

/// Runs `steps` updates of the trainer's own step from the model's present weights, a micro-batch
/// each, and writes init.safetensors, batches.safetensors, losses.json, final.safetensors and
/// config.json. UsageError for what the replay does not support: dropout, other optimisers, heads
/// but lin and mos.
void export_mt_parity(const MtParityExport& options, const Transformer& model,
                      ParameterSet& parameters, TranslationSource& data);
/// The same with mt_train's options.
void export_mt_parity(const MtOptions& o, const Transformer& model, ParameterSet& parameters,
                      TranslationTask& task);

}  // namespace nine::app
