// What one run of mt_train says of itself besides what every training says.
#pragma once

#include "apps/mt_train/mt_data.h"
#include "apps/training/train_run.h"

namespace nine::app {

/// The run of that model on that data. All that is given must outlive it.
TrainingRun mt_training(const Options& options, const MtOptions& o, const MtData& data,
                        const Transformer& model, ParameterSet& parameters, TranslationTask& task);

/// --export-parity, from the model's present weights. A UsageError names what the replay does not
/// know.
void export_parity(const MtOptions& o, const Transformer& model, ParameterSet& parameters,
                   TranslationTask& task);

}  // namespace nine::app
