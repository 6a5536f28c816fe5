#include "apps/training/line_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "core/error.h"
#include "core/files.h"

namespace nine::app {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_write(const fs::path& file, int error) {
  const std::string_view way_out =
      error == ENOSPC || error == EDQUOT ? "; free some space and start again" : "";
  fail("cannot write ", file.string(), ": ", std::strerror(error), way_out);
}

// Returns 0 or errno. A signal may split a write, a full disk may end it early.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return ENOSPC;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

// Every line is written with its newline, so what follows the last newline was cut off.
off_t end_of_whole_lines(const fs::path& file) {
  const std::string text = read_text(file);
  const size_t newline = text.rfind('\n');
  return newline == std::string::npos ? 0 : static_cast<off_t>(newline + 1);
}

}  // namespace

void LineFile::open(const fs::path& file) {
  close();
  path_ = file;
  descriptor_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_write(file, errno);
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return;
  const off_t end = end_of_whole_lines(file);
  if (end != status.st_size && ::ftruncate(descriptor_, end) != 0) fail_write(file, errno);
}

void LineFile::append(std::string_view line) {
  std::string text(line);
  text += '\n';
  struct stat before {};
  const bool known = ::fstat(descriptor_, &before) == 0 && S_ISREG(before.st_mode);
  require(!known || before.st_nlink > 0, path_.string(),
          " was removed while it was being written; start again");
  const int error = write_all(descriptor_, text);
  if (error == 0) return;
  if (known && ::ftruncate(descriptor_, before.st_size) != 0)
    close();  // opening again drops the half line
  fail_write(path_, error);
}

void LineFile::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace nine::app
