#include "apps/mt_train/average.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/cli/run_main.h"
#include "apps/training/own_checkpoint.h"
#include "apps/training/run_directory.h"
#include "core/json.h"
#include "core/notice.h"
#include "core/ops.h"
#include "core/quote.h"
#include "nn/models/model_directory.h"
#include "nn/models/transformer.h"
#include "nn/sinusoidal_positions.h"
#include "nn/training/training_state.h"

namespace nine::app {
namespace {

namespace fs = std::filesystem;

// The mean of one tensor.
class Mean {
 public:
  void add(const fs::path& file, const std::string& name, const Tensor& t) {
    if (sum_.empty()) {
      sum_.assign(static_cast<size_t>(t.elements()), 0);
      shape_ = t.shape();
    }
    require(t.shape() == shape_, file.string(), ": tensor ", quote(name), " has shape ", t.shape(),
            ", and that of the other checkpoints has ", shape_);
    const std::vector<double> values = t.to_vector();
    for (size_t i = 0; i < values.size(); ++i) sum_[i] += values[i];
  }
  Tensor over(int64_t count, DType dtype) const {
    Tensor exact(shape_, DType::float64), rounded(shape_, dtype);
    for (size_t i = 0; i < sum_.size(); ++i)
      exact.data<double>()[i] = sum_[i] / static_cast<double>(count);
    ops::copy(exact, rounded);
    return rounded;
  }

 private:
  std::vector<double> sum_;
  Shape shape_;
};

// Error: a table of positions is not the one that training computes with, which reads none.
void require_own_positions(const fs::path& file, const Tensor& table) {
  const std::vector<double> values = table.to_vector();
  std::vector<double> own;
  if (const Shape& shape = table.shape(); shape.rank() == 2 && shape[1] % 2 == 0)
    own = sinusoidal_positions(shape[0], shape[1], table.dtype(), kCpu).to_vector();
  require(
      std::ranges::equal(values, own, [](double a, double b) { return std::fabs(a - b) < 1e-6; }),
      file.string(), ": tensor ", quote(kPositionsName),
      " is not the table of sines that mt_train trains with: put the run's own file back");
}

// Error: the directory is not that of a run, with the one to give in its place; or the mean would
// be written into another run.
void require_run(const std::string& run, int64_t count) {
  std::error_code ignored;
  require(fs::is_directory(run, ignored), "--average ", count, ": there is no directory ", run,
          "; give the directory of a run as --run");
  const fs::path mean = fs::path(run) / "average";
  if (RunDirectory::holds_run(run) && !holds_state(run)) {
    require(!RunDirectory::holds_run(mean), "--average ", count, ": ", mean.string(),
            " holds a run, and the mean would be written there: move that run elsewhere");
    return;
  }
  const fs::path whole = fs::weakly_canonical(fs::path(run) / "x", ignored).parent_path();
  const bool one = holds_state(whole), several = !checkpoints_in(whole).empty();
  for (fs::path p = whole; (one || several) && p.has_relative_path(); p = p.parent_path())
    require(p == whole || !RunDirectory::holds_run(p), "--average ", count, ": ", run,
            one ? " is a checkpoint" : " holds checkpoints",
            ", and the directory of a run was expected: give --run ", p.string());
  fail("--average ", count, ": ", run, " holds no run; give the directory of a run as --run");
}

}  // namespace

int write_average(const Options& flags, const std::string& run, int64_t count) {
  require_run(run, count);
  const fs::path own = fs::path(run) / "config.json";
  const Json stored = read_run_config(run);
  const std::string_view trainer = trainer_of(stored);
  require(trainer.empty() || trainer == "mt_train", "--average ", count, ": ", run,
          " holds a run of ", trainer,
          ", and --average reads those of mt_train: give another --run");
  const Json config = flags.in_present_names(stored);
  const Json kept = config.value("keep", Json(std::numeric_limits<int64_t>::max()));
  require(kept.is_number_integer(), own.string(), ": the key 'keep' is ", json_text(kept),
          ", and a whole number was expected");
  // Only the last `keep` checkpoints count: the best one, which is kept at any age, may be older.
  const fs::path checkpoints = fs::path(run) / "checkpoints";
  std::vector<fs::path> found = committed_checkpoints(checkpoints);
  for (const fs::path& directory : checkpoints_in(checkpoints))
    if (std::ranges::find(found, directory) == found.end())
      notice(concat("mt_train: ", directory.string(),
                    " lies beyond the run's latest checkpoint and was passed over"));
  const auto keep = static_cast<size_t>(std::max<int64_t>(1, kept.get<int64_t>()));
  if (found.size() > keep) found.resize(keep);
  require(std::ssize(found) >= count, "--average ", count, ": ", run, " has the last ",
          found.size(), " checkpoints; train with a larger --keep, or average fewer");
  found.resize(static_cast<size_t>(count));
  std::reverse(found.begin(), found.end());
  std::map<std::string, Mean> means;
  Json steps = Json::array();
  for (const fs::path& directory : found) {
    const Checkpoint checkpoint(directory, CheckpointUse::model);
    require_own_checkpoint(checkpoint, own, config, flags);
    steps.push_back(checkpoint.step());
    const fs::path file = checkpoint.file(kWeightsFile);
    for (const auto& [name, tensor] : read_training_weights(checkpoint).tensors) {
      if (name == kPositionsName) require_own_positions(file, tensor);
      means[name].add(file, name, tensor);
    }
  }
  const Checkpoint last(found.back(), CheckpointUse::model);
  const Safetensors weights = last.tensors(kWeightsFile);
  require(weights.tensors.size() == means.size(),
          "the checkpoints hold different tensors: they are not of one run");
  std::vector<Tensor> averaged;
  std::vector<NamedView> views;
  for (const auto& [name, tensor] : weights.tensors) {
    averaged.push_back(means.at(name).over(count, tensor.dtype()));
    views.push_back({name, averaged.back()});
  }
  CheckpointStore store(fs::path(run) / "average", 1);
  store.save(last.step(), {{"averaged", steps}}, [&](CheckpointFiles& files) {
    files.tensors(kWeightsFile, views, weights.metadata);
    std::vector<std::string> others{"config.json"};
    std::ranges::copy(text_file_names(), std::back_inserter(others));
    for (const std::string& name : others)
      if (last.has(name)) files.text(name, last.text(name));
  });
  std::printf("the mean of the checkpoints of steps %s\nmodel  %s\n", json_text(steps).c_str(),
              (store.directory() / "latest").c_str());
  return kExitDone;
}

}  // namespace nine::app
