#include "tests/support/corpus.h"
#include "tests/support/skip.h"

#include <cstdlib>
#include <filesystem>

namespace nine::tests {

std::string corpus_file(const std::string& name) {
  const char* data = std::getenv("DATA");
  if (!data || !*data) {
    skip("the environment variable DATA, for " + name + ", is not set");
    return {};
  }
  const std::filesystem::path file = std::filesystem::path(data) / name;
  if (std::filesystem::exists(file)) return file.string();
  skip("there is no " + file.string());
  return {};
}

}  // namespace nine::tests
