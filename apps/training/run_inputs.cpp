#include "apps/training/run_inputs.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "nn/models/model_directory.h"
#include "nn/models/read_model.h"

namespace nine::app {

void RunInputs::add_files(const char* key, const std::vector<std::string>& paths) {
  uint32_t crc = 0;
  for (const std::string& path : paths) {
    const uint32_t own = digest_of_file(path).crc32c;
    crc = crc32c(crc, &own, sizeof own);
  }
  if (!paths.empty()) identity[key] = crc;
}

void RunInputs::add_model(const char* key, const std::string& directory) {
  if (directory.empty()) return;
  try {
    uint32_t crc = 0;
    const std::filesystem::path model = model_directory(directory);
    std::vector<std::filesystem::path> files = weight_files(model);
    for (const std::string& name : text_file_names()) files.push_back(model / name);
    for (const std::filesystem::path& file : files)
      if (exists(file)) {
        const uint32_t own = digest_of_file(file).crc32c;
        crc = crc32c(crc, &own, sizeof own);
      }
    const std::filesystem::path config = model / "config.json";
    const uint32_t of_config = exists(config) ? digest_of_file(config).crc32c : 0;
    identity[key] = crc;
    identity[config_key(key)] = of_config;
  } catch (const Error&) {
  } catch (const std::filesystem::filesystem_error&) {  // no permission to look there
  }
}

}  // namespace nine::app
