// The messages and log entries that mt_train adds to those of every training run.
#pragma once

#include "apps/mt_train/mt_data.h"
#include "apps/training/train_run.h"

namespace nine::app {

/// Returns the run of this model on this data, for run_training(). The arguments must outlive the
/// result.
TrainingRun mt_training(const Options& flags, const MtOptions& o, const MtData& data,
                        const Transformer& model, ParameterSet& parameters, TranslationTask& task);

}  // namespace nine::app
