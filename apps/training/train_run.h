// A training run from its directory to its last line, as both trainers make it.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/training/run_callbacks.h"
#include "apps/training/run_directory.h"
#include "apps/training/train_options.h"

namespace nine::app {

struct TrainingRun {
  const char* program;
  const Options& options;
  const TrainOptions& o;
  ParameterSet& parameters;
  TrainingTask& task;
  std::map<std::string, std::string> metadata;  ///< of model.safetensors
  nlohmann::ordered_json resolved;  ///< what the options stand for on this machine with this data;
                                    ///< decides whether a run goes on
  nlohmann::ordered_json
      model_config;  ///< keys of a checkpoint's config.json beside the options; an object
  RunCallbacks::ExtraFiles files;     ///< of every checkpoint besides config.json
  nlohmann::ordered_json start;       ///< keys of the log's first line besides the usual; an object
  std::vector<std::string> messages;  ///< what the run is made of, for people
  /// The training is over and `parameters` are the best: prints what was reached and puts it into
  /// the log's last line.
  std::function<void(const Checkpoint& best, Trainer&, RunCallbacks&, nlohmann::ordered_json& done)>
      conclude;
};

/// Starts the run or goes on with it, until it is finished or interrupted; the program's exit code.
int run_training(const TrainingRun& t);

/// The log's line about the test text, which the best model was given.
nlohmann::ordered_json test_event(const Checkpoint& best, const Trainer& trainer,
                                  const Evaluation& test);

/// What every trainer's `resolved` holds: versions, instruction set, libraries, the head and how it
/// is cut. `words`, `width`: of the head's word vectors.
nlohmann::ordered_json resolved_settings(const TrainOptions& o, const ParameterSet& parameters,
                                         int64_t words, int64_t width);

}  // namespace nine::app
