#include "apps/cli/model_files.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <utility>

#include "apps/cli/option_conflicts.h"
#include "core/error.h"
#include "core/files.h"
#include "nn/models/model_directory.h"
#include "nn/models/read_model.h"
#include "nn/training/checkpoint.h"

namespace nine::app {

namespace fs = std::filesystem;

namespace {

// The checkpoint that a path means, or the path itself: a directory with another program's model.
fs::path directory_of(const std::string& path) {
  try {
    return resolve_checkpoint(path);
  } catch (const Error&) {
    return path;
  }
}

}  // namespace

void add_model_files(std::vector<NamedFile>& inputs, const char* flag, const std::string& path) {
  std::vector<fs::path> directories{path, fs::path(path) / "checkpoints" / "best"};
  try {
    directories.push_back(resolve_checkpoint(path));
  } catch (const Error&) {  // there is none: that is said when it is opened
  }
  // Opening the model refuses a pipe in a file's place. Here it would be an input that is read
  // twice.
  const auto add = [&](const fs::path& file) {
    if (!is_device_or_pipe(file)) inputs.push_back({flag, file.string()});
  };
  for (const fs::path& directory : directories) {
    for (const char* name :
         {"log.jsonl", "config.json", "state.json", kWeightsFile, kOptimizerFile})
      add(directory / name);
    for (const std::string& name : text_file_names()) add(directory / name);
    try {
      for (const fs::path& file : weight_files(directory)) add(file);
    } catch (const Error&) {  // as above
    }
  }
}

std::optional<SameModels> find_same_models(const std::vector<std::string>& models) {
  if (models.size() < 2) return std::nullopt;
  std::map<std::vector<std::pair<uint64_t, uint32_t>>, std::string> seen;
  for (const std::string& model : models) {
    std::vector<std::pair<uint64_t, uint32_t>> weights;  // size and checksum of each file
    try {
      const bool ngrams = fs::is_regular_file(model);  // a model in ARPA format
      for (const fs::path& file :
           ngrams ? std::vector<fs::path>{model} : weight_files(directory_of(model))) {
        const FileDigest digest = digest_of_file(file);
        weights.emplace_back(digest.bytes, digest.crc32c);
      }
    } catch (const Error&) {  // said when it is opened
      continue;
    }
    if (weights.empty()) continue;
    const auto [before, is_new] = seen.emplace(weights, model);
    if (!is_new) return SameModels{before->second, model};
  }
  return std::nullopt;
}

void refuse_same_models(const char* flag, const std::vector<std::string>& models) {
  if (const auto same = find_same_models(models))
    throw UsageError(concat(
        flag, " ", same->again,
        same->before == same->again ? " is named twice" : " has the weights of " + same->before,
        ", and the model would count twice: leave one of them out"));
}

}  // namespace nine::app
