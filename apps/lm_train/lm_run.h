// The messages and log entries that lm_train adds to those of every training run.
#pragma once

#include "apps/lm_train/lm_data.h"
#include "apps/training/train_run.h"

namespace nine::app {

/// Returns the rule by which the run in --run cuts texts, if this start resumes a run;
/// Remainder::read for a new run. If config.json does not name the rule, the run is of an older
/// version, which left out the remainder.
Remainder remainder_of_run(const LmOptions& o, Communicator& communicator);

/// Returns the run of this model on this data, for run_training(). The arguments must outlive the
/// result.
TrainingRun lm_training(const Options& flags, const LmOptions& o, const LmData& data,
                        const LanguageNetwork& model, ParameterSet& parameters,
                        LanguageModelTask& task);

}  // namespace nine::app
