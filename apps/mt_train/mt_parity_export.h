// mt_train --export-parity: exports the first steps of a training for a replay in PyTorch
// (docs/formats.md).
#pragma once

#include <string>

#include "apps/mt_train/mt_options.h"
#include "nn/training/translation_task.h"

namespace nine::app {

/// The settings of the export, for callers without mt_train's options (tests/bench).
struct MtParityExport {
  std::string directory;
  int64_t steps = 20;
  int32_t pad = 1;            ///< the id of padding in the batches
  OptimizerConfig optimizer;  ///< not asgd
  ScheduleConfig schedule;    ///< constant or inverse-sqrt; each step's learning rate is written
  double clip = 0;
  bool detect_anomaly = false;
};

/// Runs `steps` updates by the trainer's own step, of one micro-batch each, from the model's
/// present weights. Writes init.safetensors, batches.safetensors, losses.json, final.safetensors
/// and config.json. UsageError: an option that the replay does not support, which are dropout,
/// asgd, and heads other than lin and mos.
void export_mt_parity(const MtParityExport& options, const Transformer& model,
                      ParameterSet& parameters, TranslationSource& data);
/// Does the same with mt_train's options.
void export_mt_parity(const MtOptions& o, const Transformer& model, ParameterSet& parameters,
                      TranslationTask& task);

}  // namespace nine::app
