#include "apps/training/run_inputs.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "nn/models/model_directory.h"

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
    std::vector<std::string> names{kWeightsFile};
    std::ranges::copy(text_file_names(), std::back_inserter(names));
    for (const std::string& name : names)
      if (exists(model / name)) {
        const uint32_t own = digest_of_file(model / name).crc32c;
        crc = crc32c(crc, &own, sizeof own);
      }
    identity[key] = crc;
  } catch (const Error&) {
  } catch (const std::filesystem::filesystem_error&) {  // no permission to look there
  }
}

}  // namespace nine::app
