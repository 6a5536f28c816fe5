// --export-parity of translation: the first steps of a training, for replay in PyTorch (formats.md,
// "Parity export").
#pragma once

#include <string>

#include "nn/training/schedule.h"
#include "nn/training/translation_source.h"

namespace nine::app {

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
/// config.json. A UsageError names what the replay does not know: dropout, other optimisers, heads
/// but lin and mos.
void export_mt_parity(const MtParityExport& options, const Transformer& model,
                      ParameterSet& parameters, TranslationSource& data);

}  // namespace nine::app
