#include "apps/cli/model_files.h"

#include <filesystem>

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
  for (const fs::path& directory : directories) {
    for (const char* name : {"log.jsonl", "config.json", "state.json", kWeightsFile, kOptimizerFile,
                             kDictionaryFile, kSourceDict, kTargetDict})
      inputs.push_back({flag, (directory / name).string()});
    try {
      for (const fs::path& file : weight_files(directory)) inputs.push_back({flag, file.string()});
    } catch (const Error&) {  // as above
    }
  }
}

}  // namespace nine::app
