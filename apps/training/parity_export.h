// What both trainers' --export-parity have in common: the first steps of a training, written for
// replay in PyTorch (docs/formats.md).
#pragma once

#include <filesystem>
#include <functional>

#include "apps/training/train_options.h"
#include "core/json.h"
#include "kernels/settings/head.h"
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

/// The replay's name for such a head: "lin" or "mos".
inline const char* replay_name(const HeadSpec& head) { return head.mixture ? "mos" : "lin"; }

/// The margin and norms of a head under the names of their flags, for config.json; nothing where
/// there are none.
Json replayed_norms(const HeadConfig& head);

/// The updates that are written.
struct ParityTraining {
  int64_t steps = 0;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  TrainStep::Config step;  ///< one micro-batch an update
};

/// Makes the updates with the trainer's own step, from the parameters' present values, and calls
/// after_step(0), after_step(1), ... behind each. Returns what losses.json holds: `loss`,
/// `grad_norm` and `lr`, a number for each step.
Json run_parity_steps(const ParityTraining& training, ParameterSet& parameters,
                      TrainingSource& data, const std::function<void(int64_t)>& after_step);

}  // namespace nine::app
