// What both trainers' --export-parity have in common: the first steps of a training, written for
// replay in PyTorch (docs/formats.md).
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/training/train_options.h"
#include "core/safetensors.h"
#include "kernels/settings/head_config.h"
#include "nn/training/schedule.h"
#include "nn/training/train_step.h"

namespace nine::app {

/// Throws a UsageError about --export-parity unless `ok`: the replay in PyTorch does not support
/// it.
template <class... Text>
void require_replay(bool ok, const Text&... text) {
  require_usage(ok, "--export-parity: ", text...);
}

/// Throws a UsageError for a head that the replay does not support. It supports inner products
/// only: the plain softmax, and the mixture of softmaxes as it was published, with projected
/// contexts. It does not tie embeddings to the word vectors of one component; `untie` is the option
/// that the error suggests.
void check_replayed_head(const HeadSpec& head, bool tie_embeddings, const char* untie);

/// Throws a UsageError for options of either trainer that the replay does not support, and for more
/// steps than the `steps_an_epoch` of an epoch.
void check_replayed_options(const TrainOptions& options, int64_t steps_an_epoch);

/// Makes the directory of --export-parity. Error, as make_output_directory's, and where a run or a
/// model is in it: its config.json would be lost. An earlier export may be there.
void make_export_directory(const std::filesystem::path& directory);

/// The updates that are written, and what is said of their model.
struct ParityExport {
  std::filesystem::path directory;
  int64_t steps = 0;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  TrainStep::Config step;  ///< one micro-batch an update
  const HeadConfig& head;
  bool tie_embeddings = false;
  /// Keys of config.json before and behind those of every export.
  Json first, last = Json::object();
  std::map<std::string, std::string> metadata = {};
  std::vector<NamedView> buffers = {};  ///< of the weights' files beside the parameters
};

/// Makes the updates with the trainer's own step, from the parameters' present values, calls
/// after_step(0), after_step(1), ... behind each, and writes init.safetensors, batches.safetensors
/// (of `batches`, as after_step has left them), losses.json, final.safetensors and config.json.
/// Error: make_export_directory's.
void export_parity(const ParityExport& e, ParameterSet& parameters, TrainingSource& data,
                   const std::function<void(int64_t)>& after_step,
                   const std::vector<NamedView>& batches);

/// Prints where the steps are, and that no run was written.
void say_exported(const TrainOptions& options);

}  // namespace nine::app
