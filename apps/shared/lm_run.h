// What one run of lm_train says of itself: the settings it resolved, the first and the last lines of its log.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "apps/shared/lm_data.h"
#include "apps/shared/lm_options.h"
#include "apps/shared/train_host.h"

namespace nine::app {

/// Everything that the options stand for on this machine with this data: beside the options in config.json.
nlohmann::ordered_json resolved_settings(const LmOptions& o, const LmData& data, const ParameterSet& parameters);

/// Whether the directory's run goes on; a mismatch with `now`, the configuration of this start, is an error that names the option.
bool resumes(const Options& options, const LmOptions& o, const nlohmann::ordered_json& now, RunDirectory& run);

/// The log's first line, `start`, or `resume` where a checkpoint was found; and what the run is made of, for people.
void announce(const LmOptions& o, const LmData& data, const ParameterSet& parameters, const Trainer& trainer, const IntactCheckpoint& found,
              TrainHost& host);

/// The best model on the test text, and the log's last line.
void conclude(const LmData& data, const LanguageModel& model, ParameterSet& parameters, Trainer& trainer, TrainHost& host, RunDirectory& run);

}  // namespace nine::app
