// What one run of lm_train says of itself besides what every training says.
#pragma once

#include "apps/lm_train/lm_data.h"
#include "apps/training/train_run.h"

namespace nine::app {

/// The run of that model on that data. All that is given must outlive it.
TrainingRun lm_training(const Options& options, const LmOptions& o, const LmData& data,
                        const LanguageModel& model, ParameterSet& parameters,
                        LanguageModelTask& task);

}  // namespace nine::app
