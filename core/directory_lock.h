// A lock on a directory, for programs that write into it.
#pragma once

#include <filesystem>

namespace nine {

/// Locks a directory by flock until the object ends. The system releases the lock when the process
/// ends, also when it is killed. Where the file system has no locks, nothing is locked.
class DirectoryLock {
 public:
  /// Error: the directory cannot be opened.
  explicit DirectoryLock(const std::filesystem::path& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  /// True if another process, or another object, holds the lock.
  bool taken() const { return taken_; }
  /// True if `directory` is still the directory that was locked.
  bool is_of(const std::filesystem::path& directory) const;

 private:
  int descriptor_;
  bool taken_ = false;
};

}  // namespace nine
