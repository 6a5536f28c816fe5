// The size and the checksum of a file, to detect later damage.
#pragma once

#include <cstdint>

namespace nine {

/// A file's size in bytes and its CRC-32C checksum.
struct FileDigest {
  uint64_t bytes = 0;
  uint32_t crc32c = 0;

  friend bool operator==(const FileDigest&, const FileDigest&) = default;
};

}  // namespace nine
