// Products of float32 matrices as sums of products of bfloat16 pieces, for CPUs that multiply
// bfloat16 faster than float32 (AMX: sixteen times, AVX512-BF16: twice).
//
// A float32 x is hi + mid + lo, each the bfloat16 (8 bits of mantissa) that is nearest to what the
// ones before it leave: 24 bits, all that x has. Of the nine products of two numbers' pieces the
// six with i + j <= 2 (from i, j = 0) matter; what is left out is below 2^-24 of the product.
// Two pieces and three products keep 16 bits, one piece 8. All sums are float32.
//
// Every element of a result is summed by itself, in an order that follows from k alone. Terms are
// taken in stretches of 256. Within one, a sum begins at 0; pass after pass (kSmallOfThree and so
// on), for each block of 32 terms and each pair of pieces, the even terms and the odd terms are
// summed by FMA, and the sum of both is added. The stretch's sum is then added to the result. The
// bits depend neither on how a product is cut, nor on the machine: Loops exist for AMX, and for any
// CPU as an emulation.
//
// AVX512-BF16, whose products are worth their time in one piece alone (`medium`), has another order
// within a stretch: pair of terms after pair, first the odd one, then the even one, by FMA. Its
// bits are those of emulation_of_pairs().
//
// Numbers below 2^-126 and pieces below it count as 0: an error of at most k 2^-126 times the
// largest factor. Elements whose row or column has numbers so large that a piece or a product could
// overflow, infinity and NaN among them, are computed in float32 (multiply()).
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "core/matmul_precision.h"

namespace nine::bf16 {

inline constexpr int64_t kGroup =
    16;  ///< rows of a left factor or columns of a right one in a tile
inline constexpr int64_t kDepth = 32;              ///< terms of the sums that a tile has
inline constexpr int64_t kTile = kGroup * kDepth;  ///< numbers of a tile
inline constexpr int64_t kStretch = 8;             ///< blocks of kDepth terms in a stretch

/// highest: 3, high: 2, medium: 1.
inline int pieces_of(MatmulPrecision p) { return 3 - static_cast<int>(p); }

/// A piece of the left factor and one of the right factor.
using PiecePair = std::pair<int, int>;
/// The products that are added up. Of three pieces the largest product comes in a pass of its own:
/// every number that is added to a large sum is an error of rounding, and those of the small
/// products are thus made while the sum is small. Each pair but the first shares a piece, which is
/// in a register, with the one before it.
inline constexpr PiecePair kSmallOfThree[] = {{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}};
inline constexpr PiecePair kAllOfTwo[] = {{1, 0}, {0, 0}, {0, 1}};
inline constexpr PiecePair kLargest[] = {{0, 0}};

/// A factor in float32: the left one (count, k), whose element (i, k) is x[i * ld + k] or, if terms
/// are not contiguous, x[k * ld + i]; or the right one (k, count), whose element (k, i) is the
/// same.
struct Factor {
  const float* x = nullptr;
  int64_t ld = 0;
  bool contiguous_terms = true;
  float scale = 1;  ///< of every element, in float32
};

/// Where the tiles of a packed factor lie: group g of kGroup rows or columns, block b of kDepth
/// terms, piece p at group_stride * g + block_stride * b + kTile * p. A part of a packed factor is
/// one too. A left tile is [row][term], a right one [term / 2][column][term % 2].
struct Layout {
  int64_t group_stride = 0, block_stride = 0;
  int pieces = 0;
};
inline int64_t groups(int64_t count) { return (count + kGroup - 1) / kGroup; }
inline int64_t blocks(int64_t k) { return (k + kDepth - 1) / kDepth; }
/// Group after group, each block after block.
inline Layout layout_of(int64_t k, int pieces) {
  return {blocks(k) * pieces * kTile, pieces * kTile, pieces};
}
/// Numbers of a packed factor of that layout.
inline int64_t packed_size(int64_t count, int64_t k, int pieces) {
  return groups(count) * blocks(k) * pieces * kTile;
}

/// A packed factor, and the float32 numbers that it was made of.
struct Packed {
  const uint16_t* tiles = nullptr;
  Layout layout;
  uint32_t largest = 0;  ///< the largest |x|, as the bits of a float32
  Factor source;
};

/// C (m, n), row-major, = left (m, k) right (k, n), or (`add`) C += that.
struct Product {
  Packed left, right;
  int64_t m = 0, n = 0, k = 0;
  float* c = nullptr;
  int64_t ldc = 0;
  bool add = false;
};

/// One implementation.
struct Loops {
  /// Packs `count` rows of a left factor, or columns of a right one, with k terms into `tiles`, of
  /// that layout; what is beyond them in the last group and block becomes 0. Returns the largest
  /// |x| as bits.
  uint32_t (*pack_left)(const Factor& f, int64_t count, int64_t k, const Layout& layout,
                        uint16_t* tiles) = nullptr;
  uint32_t (*pack_right)(const Factor& f, int64_t count, int64_t k, const Layout& layout,
                         uint16_t* tiles) = nullptr;
  /// Computes the product on this thread. No factor is too large (multiply()).
  void (*multiply)(const Product& p) = nullptr;
};

/// The implementation in use: AMX where the instruction set in use has it, AVX512-BF16 where that
/// has it and the precision in use is `medium`, otherwise none (null): products are then float32's.
/// In the environment NINE_BF16_TILES=emulated: the emulation; NINE_BF16_TILES=pairs: AVX512-BF16
/// in every precision, or pairs_by_fma() where the instruction set in use has neither that nor
/// AMX; another text, pairs where AMX is in use, and pairs in a build for CPUs without AVX2 are an
/// Error.
const Loops* loops();
/// What loops() are because the environment asks for them: "bfloat16 tiles emulated", "pairs of
/// bfloat16"; empty where they are what the instruction set has anyway.
std::string_view loops_asked_for();
/// The emulation: portable code with the bits of AMX, and some fifty times slower.
const Loops& emulation();
/// The same of AVX512-BF16.
const Loops& emulation_of_pairs();
/// The bits of emulation_of_pairs() by FMAs of AVX2, each product of pieces at nearly float32's
/// speed; null in a build for CPUs without them.
const Loops* pairs_by_fma();
/// Uses these from now on in every precision, or (null) what the CPU has. Not while an op runs.
void use_loops(const Loops* wanted);

/// Whether pieces and products of such numbers, k of them summed, stay finite.
bool fits(uint32_t left_largest, uint32_t right_largest, int64_t k);
/// by.multiply; elements whose row or column is too large, from the sources in float32.
void multiply(const Product& p, const Loops& by = *loops());

}  // namespace nine::bf16
