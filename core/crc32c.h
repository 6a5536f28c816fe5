// CRC-32C (Castagnoli), the checksum of checkpoints and of TensorBoard's records.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nine {

/// Returns the checksum `crc` continued over `size` bytes; the first call passes 0. crc32c(0,
/// "123456789", 9) == 0xE3069283.
uint32_t crc32c(uint32_t crc, const void* data, size_t size);

namespace detail {
/// Returns the same checksum by tables. crc32c() calls it on a CPU without an instruction for
/// CRC-32C, and the tests use it as an oracle.
uint32_t crc32c_by_table(uint32_t crc, const void* data, size_t size);
}  // namespace detail

}  // namespace nine
