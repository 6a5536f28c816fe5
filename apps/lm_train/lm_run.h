// The messages and log entries of lm_train besides those of every training run.
#pragma once

#include "apps/lm_train/lm_data.h"
#include "apps/training/train_run.h"

namespace nine::app {

/// The run of that model on that data, for run_training(). The arguments must outlive it.
TrainingRun lm_training(const Options& flags, const LmOptions& o, const LmData& data,
                        const LanguageNetwork& model, ParameterSet& parameters,
                        LanguageModelTask& task);

}  // namespace nine::app
