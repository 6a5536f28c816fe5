#include "apps/shared/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace nine::app {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_system(std::string_view what, const fs::path& file, int error) {
  const std::string_view way_out = error == ENOSPC || error == EDQUOT ? "; free some space and start again" : "";
  fail("cannot ", what, " ", file.string(), ": ", std::strerror(error), way_out);
}

struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

// 0 or errno. A signal may split a write, a full disk may end it early.
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

int write_new(const fs::path& file, std::string_view text) {
  const Descriptor out{::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
  if (out.value < 0) return errno;
  if (const int error = write_all(out.value, text)) return error;
  return ::fsync(out.value) == 0 ? 0 : errno;
}

void sync_directory(const fs::path& directory) {
  const Descriptor handle{::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (handle.value >= 0) ::fsync(handle.value);  // some file systems refuse; the rename is then as safe as they make it
}

// Every line is written with its newline, so what follows the last newline was cut off.
off_t end_of_whole_lines(const fs::path& file) {
  const std::string text = read_file(file);
  const size_t newline = text.rfind('\n');
  return newline == std::string::npos ? 0 : static_cast<off_t>(newline + 1);
}

}  // namespace

std::string read_file(const fs::path& file) {
  const Descriptor in{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  if (in.value < 0) fail_system("read", file, errno);
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = ::read(in.value, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_system("read", file, errno);
    if (n == 0) return text;
    text.append(buffer, static_cast<size_t>(n));
  }
}

void write_file(const fs::path& file, std::string_view text) {
  fs::path beside = file;
  beside += ".new";
  int error = write_new(beside, text);
  if (error == 0 && ::rename(beside.c_str(), file.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(beside.c_str());
    fail_system("write", file, error);
  }
  sync_directory(file.parent_path());
}

void LineFile::open(const fs::path& file) {
  close();
  path_ = file;
  descriptor_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_system("write", file, errno);
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return;
  const off_t end = end_of_whole_lines(file);
  if (end != status.st_size && ::ftruncate(descriptor_, end) != 0) fail_system("write", file, errno);
}

void LineFile::append(std::string_view line) {
  std::string text(line);
  text += '\n';
  struct stat before {};
  const bool known = ::fstat(descriptor_, &before) == 0 && S_ISREG(before.st_mode);
  const int error = write_all(descriptor_, text);
  if (error == 0) return;
  if (known && ::ftruncate(descriptor_, before.st_size) != 0) close();  // opening again drops the half line
  fail_system("write", path_, error);
}

void LineFile::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace nine::app
