// Products of bfloat16 tiles in portable code, with the bits of the instructions. Both take
// subnormal numbers as 0. AMX (TDPBF16PS) sums even and odd terms by FMA, adds the two sums and
// adds that to C; AVX512-BF16 (VDPBF16PS) adds pair after pair to C by FMA, the odd term first.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "core/bf16_product.h"
#include "core/cpu/bf16_packing.h"
#include "core/flush_subnormals.h"

namespace nine::bf16 {
namespace {

using Pass = std::span<const PiecePair>;
std::vector<Pass> passes_of(int pieces) {
  if (pieces == 3) return {kSmallOfThree, kLargest};
  if (pieces == 2) return {kAllOfTwo};
  return {kLargest};
}

// c [row][column] += left tile, right tile.
template <bool kPairs>
[[gnu::noinline]] void add_tile_product(const uint16_t* left, const uint16_t* right, float* c) {
  float even[kDepth / 2][kGroup], odd[kDepth / 2][kGroup];
  for (int64_t t = 0; t < kDepth / 2; ++t)
    for (int64_t j = 0; j < kGroup; ++j) {
      even[t][j] = cpu::from_bf16(right[t * kDepth + 2 * j]);
      odd[t][j] = cpu::from_bf16(right[t * kDepth + 2 * j + 1]);
    }
  for (int64_t i = 0; i < kGroup; ++i) {
    float* const sums = c + i * kGroup;
    float evens[kGroup] = {}, odds[kGroup] = {};
    for (int64_t t = 0; t < kDepth / 2; ++t) {
      const float a = cpu::from_bf16(left[i * kDepth + 2 * t]),
                  b = cpu::from_bf16(left[i * kDepth + 2 * t + 1]);
      for (int64_t j = 0; j < kGroup; ++j)
        if constexpr (kPairs) {
          sums[j] = std::fma(a, even[t][j], std::fma(b, odd[t][j], sums[j]));
        } else {
          evens[j] = std::fma(a, even[t][j], evens[j]);
          odds[j] = std::fma(b, odd[t][j], odds[j]);
        }
    }
    for (int64_t j = 0; j < kGroup && !kPairs; ++j) sums[j] += evens[j] + odds[j];
  }
}

template <bool kPairs>
void multiply_emulated(const Product& p) {
  const std::vector<Pass> passes = passes_of(p.left.layout.pieces);
  const int64_t all = blocks(p.k);
  for (int64_t row = 0; row < p.m; row += kGroup)
    for (int64_t column = 0; column < p.n; column += kGroup) {
      const uint16_t* left = p.left.tiles + row / kGroup * p.left.layout.group_stride;
      const uint16_t* right = p.right.tiles + column / kGroup * p.right.layout.group_stride;
      for (int64_t first = 0; first < all; first += kStretch) {
        float sums[kGroup * kGroup] = {};
        for (const Pass& pass : passes)
          for (int64_t b = first; b < std::min(all, first + kStretch); ++b)
            for (const auto& [l, r] : pass) {
              const FlushSubnormals flush;
              add_tile_product<kPairs>(
                  left + b * p.left.layout.block_stride + l * kTile,
                  right + p.right_block(b) * p.right.layout.block_stride + r * kTile, sums);
            }
        for (int64_t i = row; i < std::min(p.m, row + kGroup); ++i)
          for (int64_t j = column; j < std::min(p.n, column + kGroup); ++j) {
            const float sum = sums[(i - row) * kGroup + j - column];
            float& c = p.c[i * p.ldc + j];
            c = p.add || first > 0 ? c + sum : sum;
          }
      }
    }
}

}  // namespace

const Loops& emulation() {
  static const Loops all{cpu::pack_left, cpu::pack_right, multiply_emulated<false>};
  return all;
}
const Loops& emulation_of_pairs() {
  static const Loops all{cpu::pack_left, cpu::pack_right, multiply_emulated<true>};
  return all;
}

}  // namespace nine::bf16
