// Packs factors into bfloat16 pieces (core/bf16_product.h). The emulation uses the portable code.
// AMX and AVX512-BF16 use the copy that is compiled with AVX512-BF16. Both have the same bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "core/bf16_product.h"
#include "core/isa.h"

#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

namespace nine::cpu {
inline namespace NINE_ISA {

// Returns what the instruction VCVTNEPS2BF16 returns: rounded to nearest, ties to even; 0 for
// subnormal numbers.
inline uint16_t to_bf16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t size = bits & 0x7fffffff;
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, nan = bits >> 16 | 0x40,
                 zero = bits >> 16 & 0x8000;
  return static_cast<uint16_t>(size > 0x7f800000 ? nan : size < 0x00800000 ? zero : rounded);
}
inline float from_bf16(uint16_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); }

// The source of a tile of 16 rows or columns and 32 terms. Number (i, t) is at x[i * ld + t] with
// contiguous terms, and otherwise at x[t * ld + i].
struct TileSource {
  const float* x;
  int64_t ld;
};

// pack_tile() packs a tile's pieces, piece p at out + p * kTile. The order of a left factor is
// [i][term], of a right factor [term / 2][i][term % 2]. Returns the largest |x| as the bits of a
// float32.
#ifdef __AVX512BF16__
// Transposes 16 registers of 16 words.
inline void transpose(__m512i (&x)[16]) {
  __m512i y[16];
  for (int i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
  for (int i = 0; i < 16; i += 4)
    for (int j = 0; j < 2; ++j) {
      x[i + 2 * j] = _mm512_unpacklo_epi64(y[i + j], y[i + j + 2]);
      x[i + 2 * j + 1] = _mm512_unpackhi_epi64(y[i + j], y[i + j + 2]);
    }
  // Now x[4 b + w] has, in its 128 bits number q, column 4 q + w of rows 4 b to 4 b + 3.
  for (int w = 0; w < 4; ++w) {
    const __m512i low = _mm512_shuffle_i32x4(x[w], x[4 + w], 0x44),
                  high = _mm512_shuffle_i32x4(x[w], x[4 + w], 0xee),
                  low2 = _mm512_shuffle_i32x4(x[8 + w], x[12 + w], 0x44),
                  high2 = _mm512_shuffle_i32x4(x[8 + w], x[12 + w], 0xee);
    y[w] = _mm512_shuffle_i32x4(low, low2, 0x88);
    y[4 + w] = _mm512_shuffle_i32x4(low, low2, 0xdd);
    y[8 + w] = _mm512_shuffle_i32x4(high, high2, 0x88);
    y[12 + w] = _mm512_shuffle_i32x4(high, high2, 0xdd);
  }
  for (int i = 0; i < 16; ++i) x[i] = y[i];
}

template <bool kContiguousTerms, bool kLeft>
uint32_t pack_tile(const TileSource& from, int pieces, uint16_t* out) {
  __m512i largest = _mm512_setzero_si512();
  // Two registers make 16 pairs of terms: halves of a row, or rows of two terms.
  __m512 first[16], second[16];
  for (int i = 0; i < 16; ++i) {
    first[i] = _mm512_loadu_ps(from.x + (kContiguousTerms ? i : 2 * i) * from.ld);
    second[i] = _mm512_loadu_ps(kContiguousTerms ? from.x + i * from.ld + 16
                                                 : from.x + (2 * i + 1) * from.ld);
    for (const __m512 x : {first[i], second[i]})
      largest = _mm512_max_epu32(
          largest, _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff)));
  }
  for (int p = 0; p < pieces; ++p, out += bf16::kTile) {
    __m512i pairs[16];
    for (int i = 0; i < 16; ++i) {
      const auto low = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(first[i])),
                 high = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(second[i]));
      const __m512i low_bits = _mm512_cvtepu16_epi32(low),
                    high_bits = _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16);
      pairs[i] = kContiguousTerms ? _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1)
                                  : _mm512_or_si512(low_bits, high_bits);
      if (p + 1 < pieces) {
        first[i] = _mm512_sub_ps(first[i], _mm512_castsi512_ps(_mm512_slli_epi32(low_bits, 16)));
        second[i] = _mm512_sub_ps(second[i], _mm512_castsi512_ps(high_bits));
      }
    }
    if (kContiguousTerms != kLeft) transpose(pairs);
    for (int i = 0; i < 16; ++i) _mm512_storeu_si512(out + 32 * i, pairs[i]);
  }
  return _mm512_reduce_max_epu32(largest);
}
#else
// Packs in loops that compilers turn into SIMD code, sixteen numbers at a time.
template <bool kContiguousTerms, bool kLeft>
uint32_t pack_tile(const TileSource& from, int pieces, uint16_t* out) {
  float numbers[32][16];  // two rows make 16 pairs of terms: halves of a row, or rows of two terms
  uint32_t largest[16] = {};
  for (int i = 0; i < 32; ++i) {
    const float* x =
        kContiguousTerms ? from.x + i / 2 * from.ld + i % 2 * 16 : from.x + i * from.ld;
    for (int j = 0; j < 16; ++j) {
      numbers[i][j] = x[j];
      largest[j] = std::max(largest[j], std::bit_cast<uint32_t>(x[j]) & uint32_t{0x7fffffff});
    }
  }
  for (int p = 0; p < pieces; ++p, out += bf16::kTile) {
    uint32_t rounded[32][16];
    for (int i = 0; i < 32; ++i)
      for (int j = 0; j < 16; ++j) {
        rounded[i][j] = to_bf16(numbers[i][j]);
        numbers[i][j] -= std::bit_cast<float>(rounded[i][j] << 16);
      }
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 16; ++j) {
        const uint32_t* const low = rounded[2 * i + (kContiguousTerms && j >= 8 ? 1 : 0)];
        const int at = kContiguousTerms ? j % 8 * 2 : j;
        const uint32_t pair = kContiguousTerms ? low[at] | low[at + 1] << 16
                                               : rounded[2 * i][j] | rounded[2 * i + 1][j] << 16;
        const int to = kContiguousTerms != kLeft ? j * 16 + i : i * 16 + j;
        std::memcpy(out + 2 * to, &pair, sizeof pair);
      }
  }
  return *std::max_element(largest, largest + 16);
}
#endif

template <bool kContiguousTerms, bool kLeft>
uint32_t pack_tiles(const bf16::Factor& f, int64_t count, int64_t k, const bf16::Layout& layout,
                    uint16_t* tiles) {
  using bf16::kDepth;
  using bf16::kGroup;
  constexpr int64_t kLd = kContiguousTerms ? kDepth : kGroup;
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; i += kGroup)
    for (int64_t t = 0; t < k; t += kDepth) {
      TileSource tile{kContiguousTerms ? f.x + i * f.ld + t : f.x + t * f.ld + i, f.ld};
      alignas(64) float part[kGroup * kDepth];  // with zeros beyond the factor's end
      const int64_t numbers = std::min(kGroup, count - i), terms = std::min(kDepth, k - t),
                    rows = kContiguousTerms ? numbers : terms,
                    columns = kContiguousTerms ? terms : numbers;
      if (f.scale != 1 || rows * columns < kGroup * kDepth) {
        std::fill_n(part, kGroup * kDepth, 0.0f);
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < columns; ++c) part[r * kLd + c] = f.scale * tile.x[r * f.ld + c];
        tile = {part, kLd};
      }
      largest = std::max(
          largest, pack_tile<kContiguousTerms, kLeft>(tile, layout.pieces,
                                                      tiles + i / kGroup * layout.group_stride +
                                                          t / kDepth * layout.block_stride));
    }
  return largest;
}

inline uint32_t pack_left(const bf16::Factor& f, int64_t count, int64_t k,
                          const bf16::Layout& layout, uint16_t* tiles) {
  return (f.contiguous_terms ? pack_tiles<true, true> : pack_tiles<false, true>)(f, count, k,
                                                                                 layout, tiles);
}
inline uint32_t pack_right(const bf16::Factor& f, int64_t count, int64_t k,
                           const bf16::Layout& layout, uint16_t* tiles) {
  return (f.contiguous_terms ? pack_tiles<true, false> : pack_tiles<false, false>)(f, count, k,
                                                                                   layout, tiles);
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
