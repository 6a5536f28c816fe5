#include "nn/models/same_models.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "nn/models/read_model.h"
#include "nn/training/checkpoint.h"

namespace nine {
namespace {

namespace fs = std::filesystem;

// The checkpoint that a path means, or the path itself: a directory with another program's model.
fs::path directory_of(const std::string& path) {
  try {
    return resolve_checkpoint(path);
  } catch (const Error&) {
    return path;
  }
}

}  // namespace

std::optional<SameModels> find_same_models(const std::vector<std::string>& models) {
  if (models.size() < 2) return std::nullopt;
  std::map<std::vector<std::pair<uint64_t, uint32_t>>, std::string> seen;
  for (const std::string& model : models) {
    std::vector<std::pair<uint64_t, uint32_t>> weights;  // size and checksum of each file
    const auto add = [&](const fs::path& file) {
      const FileDigest digest = digest_of_file(file);
      weights.emplace_back(digest.bytes, digest.crc32c);
    };
    try {
      std::error_code ignored;
      if (fs::is_regular_file(model, ignored)) {
        add(model);  // of n-grams
      } else {
        for (const fs::path& file : weight_files(directory_of(model))) add(file);
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

std::string same_models_error(const std::vector<std::string>& models) {
  const auto same = find_same_models(models);
  if (!same) return "";
  return concat(
      same->again,
      same->before == same->again ? " is named twice" : " has the weights of " + same->before,
      ", and the model would count twice: leave one of them out");
}

}  // namespace nine
