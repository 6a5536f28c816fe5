// The check of UTF-8 for 32 bytes at once: the method of Keiser and Lemire ("Validating UTF-8 in
// less than one instruction per byte", Software: Practice and Experience 51(5), 2021).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "data/unicode.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace nine::detail {

#ifdef __AVX2__
// 32 bytes and the three before each. What can be wrong with two bytes side by side has a bit. Each
// of three tables says of half a byte which of these it allows, and the pair is wrong if all do.
class Utf8Block {
 public:
  // The bytes at `at` in `text`, where at least three bytes stand before them, or none.
  Utf8Block(const char* text, size_t at) : bytes_(load(text + at)) {
    if (at > 0) {
      for (int i = 0; i < 3; ++i) before_[i] = load(text + at - (i + 1));
      return;
    }
    const __m256i lower = _mm256_permute2x128_si256(bytes_, bytes_, 0x08);  // zeros, then 16 bytes
    before_[0] = _mm256_alignr_epi8(bytes_, lower, 15);
    before_[1] = _mm256_alignr_epi8(bytes_, lower, 14);
    before_[2] = _mm256_alignr_epi8(bytes_, lower, 13);
  }

  // True if a byte is wrong after those before it. Bytes that are missing at the end are not seen.
  bool is_wrong() const {
    if (_mm256_movemask_epi8(_mm256_or_si256(bytes_, before_[2])) == 0) return false;  // ASCII
    constexpr uint8_t kTooShort = 1;       // a first byte, and no byte after it that goes on
    constexpr uint8_t kTooLong = 2;        // ASCII, and a byte that goes on
    constexpr uint8_t kOverlong3 = 4;      // E0 80 to E0 9F
    constexpr uint8_t kTooLarge = 8;       // F4 90 to F4 BF, and F5 to FF before 90 to BF
    constexpr uint8_t kSurrogate = 16;     // ED A0 to ED BF
    constexpr uint8_t kOverlong2 = 32;     // C0 and C1
    constexpr uint8_t kOverlong4 = 64;     // F0 80 to F0 8F
    constexpr uint8_t kTooLarge1000 = 64;  // F5 to FF before 80 to 8F, which is not F0
    constexpr uint8_t kTwoFollow = 128;    // two bytes that go on: wrong or right, see below
    constexpr uint8_t kCarry = kTooShort | kTooLong | kTwoFollow;  // whatever the lower half is
    const __m256i first =
        look_up(upper_half(before_[0]), kTooLong, kTooLong, kTooLong, kTooLong, kTooLong, kTooLong,
                kTooLong, kTooLong, kTwoFollow, kTwoFollow, kTwoFollow, kTwoFollow,
                kTooShort | kOverlong2, kTooShort, kTooShort | kOverlong3 | kSurrogate,
                kTooShort | kTooLarge | kTooLarge1000 | kOverlong4);
    constexpr uint8_t kLarge = kCarry | kTooLarge | kTooLarge1000;
    const __m256i lower =
        look_up(_mm256_and_si256(before_[0], _mm256_set1_epi8(0x0F)),
                kCarry | kOverlong3 | kOverlong2 | kOverlong4, kCarry | kOverlong2, kCarry, kCarry,
                kCarry | kTooLarge, kLarge, kLarge, kLarge, kLarge, kLarge, kLarge, kLarge, kLarge,
                kLarge | kSurrogate, kLarge, kLarge);
    constexpr uint8_t kFollows = kTooLong | kOverlong2 | kTwoFollow;
    const __m256i second =
        look_up(upper_half(bytes_), kTooShort, kTooShort, kTooShort, kTooShort, kTooShort,
                kTooShort, kTooShort, kTooShort, kFollows | kOverlong3 | kTooLarge1000 | kOverlong4,
                kFollows | kOverlong3 | kTooLarge, kFollows | kSurrogate | kTooLarge,
                kFollows | kSurrogate | kTooLarge, kTooShort, kTooShort, kTooShort, kTooShort);
    const __m256i pairs = _mm256_and_si256(_mm256_and_si256(first, lower), second);
    // The third and the fourth byte of a character are the only ones that follow two others.
    const auto at_least = [](__m256i bytes, int limit) {
      return _mm256_subs_epu8(bytes, _mm256_set1_epi8(static_cast<char>(limit - 0x80)));
    };
    const __m256i may_follow =
        _mm256_and_si256(_mm256_or_si256(at_least(before_[1], 0xE0), at_least(before_[2], 0xF0)),
                         _mm256_set1_epi8(static_cast<char>(kTwoFollow)));
    const __m256i wrong = _mm256_xor_si256(pairs, may_follow);
    return _mm256_testz_si256(wrong, wrong) == 0;
  }

 private:
  static __m256i load(const char* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  }
  static __m256i upper_half(__m256i bytes) {
    return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0F));
  }
  template <class... Entries>
  static __m256i look_up(__m256i halves, Entries... entries) {
    const __m128i table = _mm_setr_epi8(static_cast<char>(entries)...);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), halves);
  }

  __m256i bytes_, before_[3] = {};  // shifted by one, two, three
};
#endif

/// Returns the end of a beginning of `text` that is whole characters of valid UTF-8. Of a long text
/// it is the end of the text, or near the first invalid byte; of a short text it is 0.
inline size_t valid_utf8_blocks([[maybe_unused]] std::string_view text) {
  size_t at = 0;
#ifdef __AVX2__
  constexpr size_t kBytes = sizeof(__m256i);
  if (text.size() < kBytes + 3) return 0;
  while (at < text.size()) {
    const size_t block = std::min(at, text.size() - kBytes);  // the last one overlaps
    if (Utf8Block(text.data(), block).is_wrong()) break;
    at = block + kBytes;
  }
  for (size_t back = 1; back <= std::min<size_t>(at, 3); ++back) {
    const char c = text[at - back];
    if ((c & 0xC0) == 0x80) continue;  // its character begins before it
    if (utf8_length(c) > back) at -= back;
    break;
  }
#endif
  return at;
}

}  // namespace nine::detail
