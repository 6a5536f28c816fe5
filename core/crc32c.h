// CRC-32C (Castagnoli), the checksum of checkpoints and of TensorBoard's records.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nine {

/// Continues a checksum over `size` bytes; start with 0. crc32c(0, "123456789", 9) == 0xE3069283.
uint32_t crc32c(uint32_t crc, const void* data, size_t size);

namespace detail {
/// The same checksum by tables: what crc32c() uses where the CPU has no instruction for it, and its
/// oracle in the tests.
uint32_t crc32c_by_table(uint32_t crc, const void* data, size_t size);
}  // namespace detail

}  // namespace nine
