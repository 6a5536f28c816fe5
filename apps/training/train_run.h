// A training run of either program, from opening its directory to the last line of its log.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/training/run_callbacks.h"
#include "apps/training/run_directory.h"
#include "apps/training/run_inputs.h"
#include "apps/training/train_options.h"

namespace nine::app {

/// What makes up a run. All that is referred to must outlive it.
struct TrainingRun {
  const char* program;
  const Options& flags;         ///< as declared and parsed
  const TrainOptions& options;  ///< the values that they are bound to
  ParameterSet& parameters;
  TrainingTask& task;
  /// Why the weights of --init could not be loaded, or empty. A run that goes on from a checkpoint
  /// does not need them.
  std::string init_error;
  /// What was taken from the model of --init, and what of its head is another one here; or empty.
  std::string init_taken;
  /// Metadata of model.safetensors.
  std::map<std::string, std::string> metadata;
  /// What the options resolve to on this machine with this data: a run is resumed only where it is
  /// the same.
  Json resolved;
  RunInputs inputs;  ///< likewise
  /// Keys of a checkpoint's config.json beside the options; an object.
  Json model_config;
  /// Files of every checkpoint besides config.json.
  RunCallbacks::ExtraFiles files;
  /// Keys of the log's first line besides those of every run; an object.
  Json start;
  /// Perplexity of the validation text by word frequencies alone (unigram_perplexity), for the log
  /// and to tell a model that has not begun to learn.
  std::optional<double> unigram_ppl;
  /// Lines about model and data, printed when the run starts.
  std::vector<std::string> messages;
  /// Called when the training is over and `parameters` hold the best model: prints what was reached
  /// and puts it into the log's last line.
  std::function<void(const Checkpoint& best, Trainer&, RunCallbacks&, Json& done)> conclude;
};

/// Calls `load`, which loads the weights of --init; returns why it could not, or nothing.
std::string init_error_of(const std::function<void()>& load);

/// Starts or resumes the run, until it is finished or interrupted. Returns the program's exit code.
/// All processes call it; rank 0 has the directory.
int run_training(const TrainingRun& t, Communicator& communicator);

/// The log's line about the test text, evaluated with the best model.
Json test_event(const Checkpoint& best, const Trainer& trainer, const Evaluation& test);

/// Returns what the configuration of the run in --run resolved; null if there is no run, or if the
/// run begins anew. A file that cannot be read is an error later, when the run is opened.
Json resolved_of_run(const TrainOptions& o);
/// Returns the contexts in a block of the output layer of that run, so that it goes on to the same
/// bits; 0 if there is none, or on a GPU. All processes call it; rank 0 has the directory.
int64_t block_rows_of_run(const TrainOptions& o, Device device, Communicator& communicator);

/// What every trainer's `resolved` holds: versions, instruction set, libraries, the head and how it
/// is cut. `words`, `width`: of the head's word vectors.
Json resolved_settings(const TrainOptions& o, const ParameterSet& parameters, int64_t words,
                       int64_t width);

}  // namespace nine::app
