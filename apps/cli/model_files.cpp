#include "apps/cli/model_files.h"

#include <filesystem>

#include "nn/training/checkpoint.h"

namespace nine::app {

namespace fs = std::filesystem;

void add_model_files(std::vector<NamedFile>& inputs, const char* flag, const std::string& path) {
  std::vector<fs::path> directories{path, fs::path(path) / "checkpoints" / "best"};
  try {
    directories.push_back(resolve_checkpoint(path));
  } catch (const Error&) {  // there is none: that is said when it is opened
  }
  for (const fs::path& directory : directories)
    for (const char* name : {"log.jsonl", "config.json", "state.json", "model.safetensors",
                             "optimizer.safetensors", "dict.txt", "src.dict.txt", "tgt.dict.txt"})
      inputs.push_back({flag, (directory / name).string()});
}

}  // namespace nine::app
