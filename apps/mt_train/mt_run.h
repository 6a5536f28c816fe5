// The messages and log entries of mt_train besides those of every training run.
#pragma once

#include "apps/mt_train/mt_data.h"
#include "apps/training/train_run.h"

namespace nine::app {

/// The run of that model on that data, for run_training(). The arguments must outlive it.
TrainingRun mt_training(const Options& flags, const MtOptions& o, const MtData& data,
                        const Transformer& model, ParameterSet& parameters, TranslationTask& task);

}  // namespace nine::app
