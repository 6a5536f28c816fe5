#include "apps/cli/output_directory.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>

#include "core/error.h"
#include "core/files.h"
#include "nn/training/checkpoint.h"

namespace nine::app {
namespace fs = std::filesystem;
namespace {

constexpr const char* kOwn = "; give a directory that is yours, or another ";

// What there is of the directory: itself, the nearest of its parents, or ".". Error: that is no
// directory, or nobody can tell. UsageError: the directory is "-".
fs::path existing_part(const char* flag, const fs::path& directory) {
  if (directory == "-")
    throw UsageError(concat(flag, " - names no directory, and files are not written to standard ",
                            "output; give a directory (./- is one of this name)"));
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

void require_outside_of_checkpoints(const char* flag, const fs::path& directory) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(directory / "x", error).parent_path();
  if (error) return;  // said when it is made
  require(!holds_state(whole), flag, " ", directory.string(),
          " is a checkpoint, with which other files would mix; give another ", flag);
  for (fs::path p = whole; p.has_relative_path(); p = p.parent_path())
    require(p.filename() != "checkpoints" || !fs::exists(p.parent_path() / "log.jsonl", error),
            flag, " ", directory.string(), " lies within the checkpoints of the run ",
            p.parent_path().string(), "; give another ", flag);
}

void require_no_run(const char* flag, const fs::path& directory) {
  std::error_code error;
  const auto has = [&](std::string_view name) {
    return name == "state.json" ? holds_state(directory) : fs::exists(directory / name, error);
  };
  // The config.json beside losses.json is that of an export, which writes losses.json first.
  for (const char* name :
       {"log.jsonl", "checkpoints", "state.json", "model.safetensors", "config.json"})
    require(!has(name) || (name == std::string_view("config.json") && has("losses.json")), flag,
            " ", directory.string(), " holds a run or a model (its ", name,
            "), with which other files would mix; give another ", flag);
  require_outside_of_checkpoints(flag, directory);
}

void require_output_files(const char* flag, const fs::path& directory,
                          std::span<const char* const> names) {
  for (const char* name : names) {
    std::error_code error;
    const fs::path file = linked_file(directory / name), parent = file.parent_path();
    require(!fs::is_directory(file, error), flag, " ", directory.string(), ": ", file.string(),
            " is a directory, and a file is written there; move it elsewhere, or give another ",
            flag);
    require(parent == directory || ::access(parent.c_str(), W_OK | X_OK) == 0, flag, " ",
            directory.string(), ": ", name, " leads to ", file.string(), ", where nothing can be ",
            "written; remove the link, or give another ", flag);
  }
}

}  // namespace nine::app
