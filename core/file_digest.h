// What a file held when it was written.
#pragma once

#include <cstdint>

namespace nine {

/// Size and CRC-32C checksum of a file.
struct FileDigest {
  uint64_t bytes = 0;
  uint32_t crc32c = 0;

  friend bool operator==(const FileDigest&, const FileDigest&) = default;
};

}  // namespace nine
