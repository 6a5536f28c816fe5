#include "apps/mt_train/average.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "apps/cli/run_main.h"
#include "apps/training/own_checkpoint.h"
#include "core/json.h"
#include "core/ops.h"
#include "nn/training/checkpoint.h"

namespace nine::app {
namespace {

namespace fs = std::filesystem;

// The mean of one tensor.
class Mean {
 public:
  void add(const Tensor& t) {
    const std::vector<double> values = t.to_vector();
    if (sum_.empty()) sum_.assign(values.size(), 0);
    require(sum_.size() == values.size(),
            "the checkpoints hold tensors of different sizes: they are not of one run");
    for (size_t i = 0; i < values.size(); ++i) sum_[i] += values[i];
  }
  Tensor over(int64_t count, const Shape& shape, DType dtype) const {
    Tensor exact(shape, DType::float64), rounded(shape, dtype);
    for (size_t i = 0; i < sum_.size(); ++i)
      exact.data<double>()[i] = sum_[i] / static_cast<double>(count);
    ops::copy(exact, rounded);
    return rounded;
  }

 private:
  std::vector<double> sum_;
};

}  // namespace

int write_average(const Options& flags, const std::string& run, int64_t count) {
  std::error_code ignored;
  require(fs::is_directory(run, ignored), "--average ", count, ": there is no directory ", run,
          "; give the directory of a run as --run");
  std::vector<fs::path> found = checkpoints_in(fs::path(run) / "checkpoints");
  // Only the last `keep` checkpoints count: the best one, which is kept at any age, may be older.
  const fs::path own = fs::path(run) / "config.json";
  const Json config =
      fs::exists(own) ? flags.in_present_names(read_json_object(own)) : Json::object();
  const Json kept = config.value("keep", Json(std::numeric_limits<int64_t>::max()));
  require(kept.is_number_integer(), own.string(), ": the key 'keep' is ", json_text(kept),
          ", and a whole number was expected");
  const auto keep = static_cast<size_t>(std::max<int64_t>(1, kept.get<int64_t>()));
  if (found.size() > keep) found.resize(keep);
  require(std::ssize(found) >= count, "--average ", count, ": ", run, " has the last ",
          found.size(), " checkpoints; train with a larger --keep, or average fewer");
  found.resize(static_cast<size_t>(count));
  std::reverse(found.begin(), found.end());
  // Without the run's configuration they are held to the last one's.
  const bool whole = !config.empty();
  const fs::path compared = whole ? own : found.back() / "config.json";
  std::map<std::string, Mean> means;
  Json steps = Json::array();
  for (const fs::path& directory : found) {
    const Checkpoint checkpoint(directory, CheckpointUse::model);
    require_own_checkpoint(checkpoint, compared, whole ? config : read_json_object(compared),
                           flags);
    steps.push_back(checkpoint.step());
    for (const auto& [name, tensor] : checkpoint.tensors("model.safetensors").tensors)
      means[name].add(tensor);
  }
  const Checkpoint last(found.back(), CheckpointUse::model);
  const Safetensors weights = last.tensors("model.safetensors");
  require(weights.tensors.size() == means.size(),
          "the checkpoints hold different tensors: they are not of one run");
  std::vector<Tensor> averaged;
  std::vector<NamedView> views;
  for (const auto& [name, tensor] : weights.tensors) {
    averaged.push_back(means.at(name).over(count, tensor.shape(), tensor.dtype()));
    views.push_back({name, averaged.back()});
  }
  CheckpointStore store(fs::path(run) / "average", 1);
  store.save(last.step(), {{"averaged", steps}}, [&](CheckpointFiles& files) {
    files.tensors("model.safetensors", views, weights.metadata);
    for (const char* name : {"config.json", "src.dict.txt", "tgt.dict.txt", "dict.txt"})
      if (last.has(name)) files.text(name, last.text(name));
  });
  std::printf("the mean of the checkpoints of steps %s\nmodel  %s\n", json_text(steps).c_str(),
              (store.directory() / "latest").c_str());
  return kExitDone;
}

}  // namespace nine::app
