#include "core/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#ifdef __SSE4_2__
#include <nmmintrin.h>
#endif

namespace nine {
namespace {

static_assert(std::endian::native == std::endian::little,
              "eight bytes are read at once as a little-endian number");

uint64_t load64(const unsigned char* p) {
  uint64_t word = 0;
  std::memcpy(&word, p, sizeof word);
  return word;
}

// kTables[k][b]: the checksum of byte b followed by k zero bytes (slicing by eight: Kounavis and
// Berry, 2005).
constexpr auto kTables = [] {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0x82f63b78u : 0u);
    tables[0][b] = crc;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t b = 0; b < 256; ++b)
      tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xffu];
  return tables;
}();

}  // namespace

uint32_t detail::crc32c_by_table(uint32_t crc, const void* data, size_t size) {
  const auto* p = static_cast<const unsigned char*>(data);
  crc = ~crc;
  for (; size >= 8; size -= 8, p += 8) {
    const uint64_t word = load64(p) ^ crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(word >> (8 * k)) & 0xffu];
  }
  for (; size > 0; --size, ++p) crc = (crc >> 8) ^ kTables[0][(crc ^ *p) & 0xffu];
  return ~crc;
}

#ifdef __SSE4_2__

uint32_t crc32c(uint32_t crc, const void* data, size_t size) {
  const auto* p = static_cast<const unsigned char*>(data);
  uint64_t running = ~crc;
  for (; size >= 8; size -= 8, p += 8) running = _mm_crc32_u64(running, load64(p));
  auto last = static_cast<uint32_t>(running);
  for (; size > 0; --size, ++p) last = _mm_crc32_u8(last, *p);
  return ~last;
}

#else

uint32_t crc32c(uint32_t crc, const void* data, size_t size) {
  return detail::crc32c_by_table(crc, data, size);
}

#endif

}  // namespace nine
