// What one run of lm_train tells and logs besides what every training does.
#pragma once

#include "apps/lm_train/lm_data.h"
#include "apps/training/train_run.h"

namespace nine::app {

/// The run of that model on that data, for run_training(). All that is given must outlive it.
TrainingRun lm_training(const Options& flags, const LmOptions& o, const LmData& data,
                        const LanguageModel& model, ParameterSet& parameters,
                        LanguageModelTask& task);

}  // namespace nine::app
