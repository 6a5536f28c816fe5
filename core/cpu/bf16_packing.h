// Packing of factors into bfloat16 pieces (core/bf16_product.h): for the emulation, and compiled
// with AVX512-BF16 for AMX and AVX512-BF16, with the same bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/bf16_product.h"
#include "core/cpu/isa.h"

#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

namespace nine::cpu {
inline namespace NINE_ISA {

// The instruction VCVTNEPS2BF16: to nearest, ties to even; subnormal numbers become 0.
inline uint16_t to_bf16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t size = bits & 0x7fffffff;
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, nan = bits >> 16 | 0x40,
                 zero = bits >> 16 & 0x8000;
  return static_cast<uint16_t>(size > 0x7f800000 ? nan : size < 0x00800000 ? zero : rounded);
}
inline float from_bf16(uint16_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); }

// The largest |x| seen, as bits, in 32 lanes.
struct LargestBits {
  alignas(64) uint32_t lanes[bf16::kDepth] = {};

  uint32_t all() const { return *std::max_element(lanes, lanes + bf16::kDepth); }
};

// The pieces of 32 numbers, piece p at out + p * kTile.
#ifdef __AVX512BF16__
inline void split(const float* x, int pieces, uint16_t* out, LargestBits& largest) {
  for (int64_t half = 0; half < bf16::kDepth; half += 16) {
    __m512 rest = _mm512_loadu_ps(x + half);
    const __m512i size = _mm512_and_si512(_mm512_castps_si512(rest), _mm512_set1_epi32(0x7fffffff));
    uint32_t* lanes = largest.lanes + half;
    _mm512_store_si512(lanes, _mm512_max_epu32(_mm512_load_si512(lanes), size));
    for (int p = 0; p < pieces; ++p) {
      const auto piece = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(rest));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + p * bf16::kTile + half), piece);
      const __m512i bits = _mm512_slli_epi32(_mm512_cvtepu16_epi32(piece), 16);
      rest = _mm512_sub_ps(rest, _mm512_castsi512_ps(bits));
    }
  }
}
#else
inline void split(const float* x, int pieces, uint16_t* out, LargestBits& largest) {
  float rest[bf16::kDepth];
  for (int64_t i = 0; i < bf16::kDepth; ++i) {
    largest.lanes[i] =
        std::max(largest.lanes[i], std::bit_cast<uint32_t>(x[i]) & uint32_t{0x7fffffff});
    rest[i] = x[i];
  }
  for (int p = 0; p < pieces; ++p)
    for (int64_t i = 0; i < bf16::kDepth; ++i) {
      const uint16_t piece = to_bf16(rest[i]);
      out[p * bf16::kTile + i] = piece;
      rest[i] -= from_bf16(piece);
    }
}
#endif

// Calls pack(first number, rows or columns, terms, tile) for the tiles of a factor.
template <class Pack>
void for_tiles(const bf16::Factor& f, int64_t count, int64_t k, const bf16::Layout& layout,
               uint16_t* tiles, Pack&& pack) {
  for (int64_t i = 0; i < count; i += bf16::kGroup)
    for (int64_t t = 0; t < k; t += bf16::kDepth)
      pack(f.contiguous_terms ? f.x + i * f.ld + t : f.x + t * f.ld + i,
           std::min(bf16::kGroup, count - i), std::min(bf16::kDepth, k - t),
           tiles + i / bf16::kGroup * layout.group_stride + t / bf16::kDepth * layout.block_stride);
}

inline uint32_t pack_left(const bf16::Factor& f, int64_t count, int64_t k,
                          const bf16::Layout& layout, uint16_t* tiles) {
  using bf16::kDepth;
  using bf16::kGroup;
  LargestBits largest;
  const auto pack = [&](const float* x, int64_t rows, int64_t terms, uint16_t* tile) {
    alignas(64) float part[kGroup * kDepth];
    const bool whole = terms == kDepth && rows == kGroup,
               direct = whole && f.contiguous_terms && f.scale == 1;
    if (!whole) std::fill_n(part, kGroup * kDepth, 0.0f);
    if (!f.contiguous_terms) {
      for (int64_t t = 0; t < terms; ++t)
        for (int64_t r = 0; r < rows; ++r) part[r * kDepth + t] = x[t * f.ld + r];
    } else if (!direct) {
      for (int64_t r = 0; r < rows; ++r) std::copy_n(x + r * f.ld, terms, part + r * kDepth);
    }
    if (f.scale != 1)
      for (float& y : part) y *= f.scale;
    for (int64_t r = 0; r < kGroup; ++r)
      split(direct ? x + r * f.ld : part + r * kDepth, layout.pieces, tile + r * kDepth, largest);
  };
  for_tiles(f, count, k, layout, tiles, pack);
  return largest.all();
}

inline uint32_t pack_right(const bf16::Factor& f, int64_t count, int64_t k,
                           const bf16::Layout& layout, uint16_t* tiles) {
  using bf16::kDepth;
  using bf16::kGroup;
  LargestBits largest;
  const auto pack = [&](const float* x, int64_t columns, int64_t terms, uint16_t* tile) {
    const bool whole = terms == kDepth && columns == kGroup;
    for (int64_t pair = 0; pair < kDepth / 2; ++pair) {
      alignas(64) float part[kDepth];
      if (whole && f.contiguous_terms) {
        for (int64_t c = 0; c < kGroup; ++c)
          for (int64_t odd = 0; odd < 2; ++odd) part[2 * c + odd] = x[c * f.ld + 2 * pair + odd];
      } else if (whole) {
        const float *even_terms = x + 2 * pair * f.ld, *odd_terms = even_terms + f.ld;
        for (int64_t c = 0; c < kGroup; ++c) {
          part[2 * c] = even_terms[c];
          part[2 * c + 1] = odd_terms[c];
        }
      } else {
        std::fill_n(part, kDepth, 0.0f);
        for (int64_t odd = 0; odd < 2 && 2 * pair + odd < terms; ++odd)
          for (int64_t c = 0; c < columns; ++c) {
            const int64_t t = 2 * pair + odd;
            part[2 * c + odd] = f.contiguous_terms ? x[c * f.ld + t] : x[t * f.ld + c];
          }
      }
      if (f.scale != 1)
        for (float& y : part) y *= f.scale;
      split(part, layout.pieces, tile + pair * kDepth, largest);
    }
  };
  for_tiles(f, count, k, layout, tiles, pack);
  return largest.all();
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
