#include "core/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/output_file.h"

namespace nine {
namespace fs = std::filesystem;
namespace {

constexpr size_t kChunkBytes = size_t{1} << 16;

// Calls f(data, size) for each chunk of the file or pipe.
template <class F>
void for_chunks(const fs::path& file, F&& f) {
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  require(in.is_open(), "cannot read ", file.string(), ": ", std::strerror(errno));
  std::vector<char> chunk(kChunkBytes);
  while (in.read(chunk.data(), static_cast<std::streamsize>(chunk.size())), in.gcount() > 0)
    f(chunk.data(), static_cast<size_t>(in.gcount()));
  require(!in.bad(), "cannot read ", file.string(), ": ", std::strerror(errno));
}

// Returns a name in the directory of `path` that no other process uses.
fs::path temporary_beside(const fs::path& path) {
  return path.parent_path() / concat(".", path.filename().string(), ".", ::getpid(), ".tmp");
}

// Renames a temporary file to `path` and waits until that is on disk. Removes it on failure.
void put_in_place(const fs::path& temporary, const fs::path& path) {
  std::error_code error;
  fs::rename(temporary, path, error);
  if (error) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    fail("cannot write ", path.string(), ": ", error.message());
  }
  fsync_dir(path.parent_path());
}

}  // namespace

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

void require_regular_file(const fs::path& file) {
  std::error_code error;
  const fs::file_type type = fs::status(file, error).type();
  require(type != fs::file_type::not_found || !is_there(file), "cannot read ", file.string(),
          ": the symbolic link leads nowhere");
  require(type != fs::file_type::directory, "cannot read ", file.string(), ": Is a directory");
  using Type = fs::file_type;
  const char* const kind = type == Type::fifo                               ? "a named pipe"
                           : type == Type::socket                           ? "a socket"
                           : type == Type::character || type == Type::block ? "a device"
                                                                            : nullptr;
  if (kind != nullptr)
    fail("cannot read ", file.string(), ": it is ", kind,
         ", and a regular file was expected; put the file itself there, or a link to it");
}

std::string read_text(const fs::path& file) {
  require_regular_file(file);
  return read_text_or_pipe(file);
}

std::string read_text_or_pipe(const fs::path& file) {
  std::error_code error;
  require(!fs::is_directory(file, error), "cannot read ", file.string(), ": Is a directory");
  std::string text;
  if (const auto size = fs::file_size(file, error); !error) text.reserve(size);  // 0 of a pipe
  for_chunks(file, [&](const char* data, size_t size) { text.append(data, size); });
  return text;
}

FileDigest write_text(const fs::path& file, std::string_view text) {
  OutputFile out(file);
  out.write(text.data(), text.size());
  return out.finish();
}

bool is_device_or_pipe(const fs::path& path) {
  std::error_code ignored;
  const auto status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

fs::path linked_file(const fs::path& path) {
  constexpr int kMostLinks = 40;  // links that Linux follows
  std::error_code error;
  fs::path file = path;
  for (int i = 0; i <= kMostLinks; ++i) {
    if (!fs::is_symlink(file, error)) return file;
    const fs::path target = fs::read_symlink(file, error);
    if (error) break;
    file = file.parent_path() / target;
  }
  return path;
}

void atomic_write_text(const fs::path& path, std::string_view text) {
  std::error_code ignored;
  if (is_device_or_pipe(path)) {
    std::ofstream out(path, std::ios::binary);
    out.write(text.data(), static_cast<std::streamsize>(text.size())).flush();
    require(out.good(), "cannot write ", path.string(), ": ", std::strerror(errno));
    return;
  }
  const fs::path file = linked_file(path);
  require(!fs::is_symlink(file, ignored), "cannot write ", path.string(), ": ",
          std::strerror(ELOOP));
  const fs::path temporary = temporary_beside(file);
  try {
    write_text(temporary, text);
  } catch (const Error&) {
    fs::remove(temporary, ignored);
    throw;
  }
  put_in_place(temporary, file);
}

FileDigest digest_of_file(const fs::path& file) {
  require_regular_file(file);
  FileDigest digest;
  for_chunks(file, [&](const char* data, size_t size) {
    digest.crc32c = crc32c(digest.crc32c, data, size);
    digest.bytes += size;
  });
  return digest;
}

void make_directories(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  require(!error, "cannot make the directory ", directory.string(), ": ", error.message());
}

void fsync_dir(const fs::path& directory) {
  const fs::path path = directory.empty() ? fs::path(".") : directory;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  require(descriptor >= 0, "cannot open the directory ", path.string(), ": ", std::strerror(errno));
  const int error = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  // Some file systems do not support fsync on directories and answer EINVAL.
  require(error == 0 || error == EINVAL, "cannot fsync the directory ", path.string(), ": ",
          std::strerror(error));
}

void replace_symlink(const fs::path& link, const fs::path& target) {
  std::error_code error;
  const auto status = fs::symlink_status(link, error);
  require(!fs::exists(status) || fs::is_symlink(status), link.string(),
          " is in the way: it should be a symbolic link; move it elsewhere");
  const fs::path temporary = temporary_beside(link);
  fs::remove(temporary, error);
  fs::create_symlink(target, temporary, error);
  require(!error, "cannot make the symbolic link ", link.string(), ": ", error.message());
  put_in_place(temporary, link);
}

}  // namespace nine
