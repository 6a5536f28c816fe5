#include "core/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace nine {

DirectoryLock::DirectoryLock(const std::filesystem::path& directory)
    : descriptor_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  require(descriptor_ >= 0, "cannot open the directory ", directory.string(), ": ",
          std::strerror(errno));
  taken_ = ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

DirectoryLock::~DirectoryLock() { ::close(descriptor_); }

bool DirectoryLock::is_of(const std::filesystem::path& directory) const {
  struct stat own {
  }, there{};
  return ::fstat(descriptor_, &own) == 0 && ::stat(directory.c_str(), &there) == 0 &&
         own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

}  // namespace nine
