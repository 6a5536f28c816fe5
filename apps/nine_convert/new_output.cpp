#include "apps/nine_convert/new_output.h"

#include <unistd.h>

#include <string>
#include <system_error>

#include "apps/cli/output_directory.h"
#include "core/error.h"
#include "core/files.h"

namespace nine::app {
namespace {

namespace fs = std::filesystem;

// Returns the path without a slash at its end.
fs::path plain(const fs::path& path) { return path.has_filename() ? path : path.parent_path(); }

fs::path parent_of(const fs::path& path) {
  const fs::path parent = plain(path).parent_path();
  return parent.empty() ? "." : parent;
}

// Removes what was written beside the output, unless it has become the output.
class Beside {
 public:
  explicit Beside(const fs::path& path)
      : path_(parent_of(path) /
              concat('.', plain(path).filename().string(), '.', ::getpid(), ".tmp")) {}
  ~Beside() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Gives the file or directory its name, and waits until the name is on disk.
void put_in_place(const char* flag, const fs::path& from, const fs::path& path) {
  require_new(flag, path);
  std::error_code error;
  fs::rename(from, plain(path), error);
  require(!error, "cannot rename ", from.string(), " to ", path.string(), ": ", error.message());
  fsync_dir(parent_of(path));
}

}  // namespace

void require_new(const char* flag, const fs::path& path) {
  require_output_directory(flag, parent_of(path));
  require(!is_there(plain(path)), flag, ' ', path.string(),
          " is there already, and it is not replaced: remove it, or give another ", flag);
  require_outside_of_checkpoints(flag, path);
}

void write_new_directory(const char* flag, const fs::path& path,
                         const std::function<void(const fs::path&)>& write) {
  require_new(flag, path);
  const Beside beside(path);
  make_output_directory(flag, beside.path());
  write(beside.path());
  fsync_dir(beside.path());
  put_in_place(flag, beside.path(), path);
}

void write_new_file(const char* flag, const fs::path& path,
                    const std::function<void(const fs::path&)>& write) {
  require_new(flag, path);
  make_output_directory(flag, parent_of(path));
  const Beside beside(path);
  write(beside.path());
  put_in_place(flag, beside.path(), path);
}

}  // namespace nine::app
