#include "apps/cli/output_directory.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "core/error.h"

namespace nine::app {
namespace fs = std::filesystem;
namespace {

void require_no_file(const char* flag, const fs::path& directory, const fs::path& there) {
  std::error_code ignored;
  const fs::file_status status = fs::status(there, ignored);
  require(!fs::exists(status) || fs::is_directory(status), flag, " ", directory.string(),
          there == directory ? "" : ": " + there.string(),
          " is a file, not a directory; give another ", flag);
}

}  // namespace

void make_output_directory(const char* flag, const fs::path& directory) {
  require_no_file(flag, directory, directory);
  std::error_code error;
  fs::create_directories(directory, error);
  require(!error, flag, " ", directory.string(), " cannot be made: ", error.message(),
          "; give another ", flag);
}

void require_output_directory(const char* flag, const fs::path& directory) {
  std::error_code ignored;
  fs::path there = directory;  // what is there of it
  while (!there.empty() && !fs::exists(there, ignored)) there = there.parent_path();
  if (there.empty()) there = ".";
  require_no_file(flag, directory, there);
  require(::access(there.c_str(), W_OK | X_OK) == 0, flag, " ", directory.string(), ": ",
          there.string(), " cannot be written: ", std::strerror(errno),
          "; give a directory that is yours, or another ", flag);
}

}  // namespace nine::app
