#include "apps/cli/model_files.h"

#include <filesystem>

#include "apps/cli/option_conflicts.h"
#include "core/error.h"
#include "core/files.h"
#include "nn/models/model_directory.h"
#include "nn/models/read_model.h"
#include "nn/models/same_models.h"
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

void refuse_same_models(const char* flag, const std::vector<std::string>& models) {
  if (const std::string error = same_models_error(models); !error.empty())
    throw UsageError(concat(flag, " ", error));
}

}  // namespace nine::app
