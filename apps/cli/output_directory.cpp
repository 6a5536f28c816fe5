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

constexpr const char* kOwn = "; give a directory that is yours, or another ";

// What there is of the directory: itself, the nearest of its parents, or ".". Error: that is no
// directory, or nobody can tell.
fs::path existing_part(const char* flag, const fs::path& directory) {
  std::error_code error;
  fs::path there = directory;
  fs::file_status status = fs::symlink_status(there, error);
  const auto denied = [&] { return error == std::errc::permission_denied; };
  const bool closed = denied();  // a parent may not be searched
  while ((status.type() == fs::file_type::not_found || denied()) && there != ".") {
    there = there.parent_path();
    if (there.empty()) there = ".";
    status = fs::symlink_status(there, error);
  }
  if (fs::is_symlink(status)) status = fs::status(there, error);
  const std::string at = there == directory ? "" : ": " + there.string();
  require(!closed, flag, " ", directory.string(), at, " cannot be searched: Permission denied",
          kOwn, flag);
  require(status.type() != fs::file_type::not_found, flag, " ", directory.string(), at,
          " is a symbolic link to nothing; give another ", flag);
  require(fs::status_known(status), flag, " ", directory.string(), at,
          " cannot be looked at: ", error.message(), "; give another ", flag);
  require(fs::is_directory(status), flag, " ", directory.string(), at,
          " is a file, not a directory; give another ", flag);
  return there;
}

}  // namespace

void make_output_directory(const char* flag, const fs::path& directory) {
  existing_part(flag, directory);
  std::error_code error;
  fs::create_directories(directory, error);
  require(!error, flag, " ", directory.string(), " cannot be made: ", error.message(),
          "; give another ", flag);
}

void require_output_directory(const char* flag, const fs::path& directory) {
  const fs::path there = existing_part(flag, directory);
  const int error = ::access(there.c_str(), W_OK | X_OK) == 0 ? 0 : errno;
  require(error == 0, flag, " ", directory.string(), ": ", there.string(),
          " cannot be written: ", std::strerror(error), kOwn, flag);
}

}  // namespace nine::app
