// --export-parity: the first steps of a training, for replay in PyTorch (formats.md, "Parity
// export").
#pragma once

#include "apps/lm_train/lm_options.h"

namespace nine::app {

/// Whether the replay knows a head: inner products alone, the plain softmax, or the mixture of
/// softmaxes as it was published, with contexts. What it is called there.
bool replayed(const HeadSpec& head);
inline const char* replayed_name(const HeadSpec& head) { return head.mixture ? "mos" : "lin"; }

/// Runs `export_steps` updates of the trainer's own step from the model's present weights and
/// writes init.safetensors, batches.safetensors, losses.json, final.safetensors and config.json
/// into `export_parity`. A UsageError names what the replay does not know.
void export_lm_parity(const LmOptions& options, const LanguageModel& model,
                      ParameterSet& parameters, LanguageModelTask& task);

}  // namespace nine::app
