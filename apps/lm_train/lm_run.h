// The messages and log entries that lm_train adds to those of every training run.
#pragma once

#include "apps/lm_train/lm_data.h"
#include "apps/training/train_run.h"

namespace nine::app {

/// Sets the rules by which the run in --run cuts and evaluates texts, if this start resumes a run;
/// those of new runs otherwise. If config.json does not name a rule, the run is of an older
/// version, which left out the remainder, and carried the state in evaluation.
void set_rules_of_run(const LmOptions& o, Communicator& communicator, LmBatching& batching);

/// Returns the run of this model on this data, for run_training(). The arguments must outlive the
/// result.
TrainingRun lm_training(const Options& flags, const LmOptions& o, const LmData& data,
                        const LanguageNetwork& model, ParameterSet& parameters,
                        LanguageModelTask& task);

}  // namespace nine::app
