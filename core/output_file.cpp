#include "core/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/interrupt.h"

namespace nine {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

}  // namespace

OutputFile::OutputFile(std::filesystem::path file) : file_(std::move(file)) {
  descriptor_ = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_writing(errno);
  buffer_.reserve(kBufferBytes);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(const void* data, size_t size) {
  const auto* p = static_cast<const std::byte*>(data);
  while (size > 0) {  // in chunks, which stay in the cache between checksum and copy
    const size_t chunk = std::min(size, kBufferBytes);
    digest_.crc32c = crc32c(digest_.crc32c, p, chunk);
    digest_.bytes += chunk;
    if (buffer_.size() + chunk > kBufferBytes) flush();
    if (chunk == kBufferBytes) {
      write_out(p, chunk);
    } else {
      buffer_.insert(buffer_.end(), p, p + chunk);
    }
    p += chunk;
    size -= chunk;
  }
}

FileDigest OutputFile::finish() {
  flush();
  // Pipes and devices do not support fsync and answer EINVAL.
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail_writing(errno);
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) fail_writing(errno);
  return digest_;
}

void OutputFile::flush() {
  write_out(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void OutputFile::write_out(const std::byte* data, size_t size) {
  check_interrupt();
  while (size > 0) {
    const ssize_t written = ::write(descriptor_, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_writing(errno);
    if (written == 0) fail_writing(ENOSPC);
    data += written;
    size -= static_cast<size_t>(written);
  }
}

void OutputFile::fail_writing(int error) const {
  if (error == ENOSPC || error == EDQUOT)
    fail("no space left on device while writing ", file_.string(),
         ": free some, or write elsewhere");
  fail("cannot write ", file_.string(), ": ", std::strerror(error));
}

}  // namespace nine
