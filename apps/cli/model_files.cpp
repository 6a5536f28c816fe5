#include "apps/cli/model_files.h"

#include <filesystem>

namespace nine::app {

namespace fs = std::filesystem;

void add_model_files(std::vector<NamedFile>& inputs, const char* flag, const std::string& path) {
  for (const fs::path& directory : {fs::path(path), fs::path(path) / "checkpoints" / "best"})
    for (const char* name : {"log.jsonl", "config.json", "state.json", "model.safetensors",
                             "optimizer.safetensors", "dict.txt", "src.dict.txt", "tgt.dict.txt"})
      inputs.push_back({flag, (directory / name).string()});
}

}  // namespace nine::app
