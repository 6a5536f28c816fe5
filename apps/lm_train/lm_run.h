// The messages and log entries of lm_train besides those of every training run.
#pragma once

#include "apps/lm_train/lm_data.h"
#include "apps/training/train_run.h"

namespace nine::app {

/// The rule by which the run in --run cuts texts, where this start goes on with one;
/// Remainder::read of a new run. config.json has it since there are two; before, the remainder was
/// left out.
Remainder remainder_of_run(const LmOptions& o, Communicator& communicator);

/// The run of that model on that data, for run_training(). The arguments must outlive it.
TrainingRun lm_training(const Options& flags, const LmOptions& o, const LmData& data,
                        const LanguageNetwork& model, ParameterSet& parameters,
                        LanguageModelTask& task);

}  // namespace nine::app
