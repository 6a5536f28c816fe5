#include "apps/cli/model_files.h"

#include <filesystem>

#include "core/files.h"
#include "nn/models/model_directory.h"
#include "nn/models/read_model.h"
#include "nn/training/checkpoint.h"

namespace nine::app {

namespace fs = std::filesystem;

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
    for (const char* name : {"log.jsonl", "config.json", "state.json", kWeightsFile, kOptimizerFile,
                             kDictionaryFile, kSourceDict, kTargetDict})
      add(directory / name);
    try {
      for (const fs::path& file : weight_files(directory)) add(file);
    } catch (const Error&) {  // as above
    }
  }
}

}  // namespace nine::app
