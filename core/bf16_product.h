// Products of float32 matrices as sums of products of bfloat16 pieces, for CPUs that multiply
// bfloat16 faster than float32 (AMX: sixteen times, AVX512-BF16: twice).
//
// A float32 x is hi + mid + lo. Each piece is the bfloat16 (8 bits of mantissa) nearest to the rest
// that the pieces before it leave, so that three pieces hold all 24 bits of x. Two numbers have
// nine products of pieces. The six with i + j <= 2 (from i, j = 0) are added; the other three are
// below 2^-24 of the product. Two pieces and three products keep 16 bits, one piece keeps 8. All
// sums are float32.
//
// Each element of a result is summed in an order that depends on k alone. Terms are taken in
// stretches of 256. Within a stretch the sum begins at 0. The passes (kSmallOfThree and so on) run
// one after another. For each block of 32 terms and each pair of pieces of a pass, FMAs sum the
// even terms and the odd terms, and both sums are added. The stretch's sum is then added to the
// result. The bits depend neither on the cut of a product nor on the machine: Loops exist for AMX
// and, as an emulation, for any CPU.
//
// AVX512-BF16 is faster than float32 with one piece only (`medium`). Its order within a stretch
// differs: pairs of terms one after another, first the odd term, then the even term, by FMA.
// emulation_of_pairs() has the same bits.
//
// Numbers and pieces below 2^-126 count as 0: an error of at most k 2^-126 times the largest
// factor. Very large numbers, infinity and NaN could make a piece or a product overflow. Elements
// whose row or column has such numbers are computed in float32 (multiply()).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "core/matmul_precision.h"

namespace nine::bf16 {

inline constexpr int64_t kGroup =
    16;  ///< rows of a left factor, or columns of a right factor, in a tile
inline constexpr int64_t kDepth = 32;              ///< terms of a tile
inline constexpr int64_t kTile = kGroup * kDepth;  ///< numbers of a tile
inline constexpr int64_t kStretch = 8;             ///< blocks of kDepth terms in a stretch

/// Returns the pieces of a number: 3 for highest, 2 for high, 1 for medium.
inline int pieces_of(MatmulPrecision p) { return 3 - static_cast<int>(p); }

/// The index of a piece of the left factor and of a piece of the right factor.
using PiecePair = std::pair<int, int>;
/// The products of pieces that are added. With three pieces the largest product has a pass of its
/// own: an addition to a large sum rounds coarsely, so the small products are added while the sum
/// is small. Each pair but the first shares a piece, which is in a register, with the pair before
/// it.
inline constexpr PiecePair kSmallOfThree[] = {{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}};
inline constexpr PiecePair kAllOfTwo[] = {{1, 0}, {0, 0}, {0, 1}};
inline constexpr PiecePair kLargest[] = {{0, 0}};
/// Returns all pairs whose products are added, in order, for factors of 1, 2 or 3 pieces.
std::span<const PiecePair> pairs_of(int pieces);

/// A factor in float32. Element (i, k) of a left factor (count, k) is x[i * ld + k] or, unless
/// contiguous_terms, x[k * ld + i]. Element (k, i) of a right factor (k, count) is at the same
/// place.
struct Factor {
  const float* x = nullptr;
  int64_t ld = 0;
  bool contiguous_terms = true;
  float scale = 1;  ///< multiplies every element, in float32
};

/// The layout of a packed factor's tiles: group g of kGroup rows or columns, block b of kDepth
/// terms and piece p begin at group_stride * g + block_stride * b + kTile * p. A part of a packed
/// factor is a packed factor too. The order of a left tile is [row][term], of a right tile [term /
/// 2][column][term % 2].
struct Layout {
  int64_t group_stride = 0, block_stride = 0;
  int pieces = 0;
};
inline int64_t groups(int64_t count) { return (count + kGroup - 1) / kGroup; }
inline int64_t blocks(int64_t k) { return (k + kDepth - 1) / kDepth; }
/// Returns the layout that stores the groups one after another, and each group's blocks one after
/// another.
inline Layout layout_of(int64_t k, int pieces) {
  return {blocks(k) * pieces * kTile, pieces * kTile, pieces};
}
/// Returns how many numbers a packed factor with layout_of() has.
inline int64_t packed_size(int64_t count, int64_t k, int pieces) {
  return groups(count) * blocks(k) * pieces * kTile;
}

/// A packed factor, and its source in float32.
struct Packed {
  const uint16_t* tiles = nullptr;
  Layout layout;
  uint32_t largest = 0;  ///< the largest |x|, as the bits of a float32
  Factor source;
};

/// The product C = left (m, k) right (k, n) or, with `add`, C += left right. C (m, n) is row-major.
struct Product {
  Packed left, right;
  int64_t m = 0, n = 0, k = 0;
  float* c = nullptr;
  int64_t ldc = 0;
  bool add = false;
  /// The blocks of terms of the right factor that the blocks of the left factor meet, one after
  /// another, for Loops::multiply; k counts whole blocks. null: blocks 0, 1, 2, ...
  const int32_t* right_blocks = nullptr;

  /// Returns the right factor's block that block b of the left factor meets.
  int64_t right_block(int64_t b) const { return right_blocks == nullptr ? b : right_blocks[b]; }
};

/// An implementation of the loops.
struct Loops {
  /// Packs `count` rows of a left factor, or columns of a right factor, with k terms into `tiles`
  /// with this layout. Fills the rest of the last group and block with 0. Returns the largest |x|
  /// as the bits of a float32.
  uint32_t (*pack_left)(const Factor& f, int64_t count, int64_t k, const Layout& layout,
                        uint16_t* tiles) = nullptr;
  uint32_t (*pack_right)(const Factor& f, int64_t count, int64_t k, const Layout& layout,
                         uint16_t* tiles) = nullptr;
  /// Computes the product on this thread. No number may be too large; see bf16::multiply().
  void (*multiply)(const Product& p) = nullptr;
};

/// Returns the implementation in use: AMX if the instruction set in use has it; AVX512-BF16 if the
/// instruction set has it and the precision in use is `medium`; otherwise null, and products are
/// float32's. The environment variable NINE_BF16_TILES changes the choice. `emulated` selects the
/// emulation. `pairs` selects AVX512-BF16 in every precision, or pairs_by_fma() if the instruction
/// set has neither AVX512-BF16 nor AMX. Errors: another text; `pairs` while AMX is in use; `pairs`
/// in a build for CPUs without AVX2.
const Loops* loops();
/// Returns the loops that the environment asks for: "bfloat16 tiles emulated" or "pairs of
/// bfloat16". Empty if loops() is the instruction set's usual choice.
std::string_view loops_asked_for();
/// Returns the emulation of AMX: portable code with the same bits, about fifty times slower.
const Loops& emulation();
/// Returns the emulation of AVX512-BF16: portable code with the same bits.
const Loops& emulation_of_pairs();
/// Returns loops with the bits of emulation_of_pairs() by FMAs of AVX2. They multiply pieces at
/// nearly float32's speed. Null in a build for CPUs without AVX2.
const Loops* pairs_by_fma();
/// Returns in how many pieces the output layer on a GPU cuts its float32 factors in the precision
/// in use: 1 for medium, 2 for high. 0: it multiplies float32, as in highest. By calculation, six
/// products of pieces are faster than float32's on an H100, but no GPU has measured that. The
/// environment variable NINE_CUDA_PIECES names the highest precision that has pieces: highest, high
/// (the default) or medium. Error: another text.
int pieces_on_gpu();
/// Uses `wanted` from now on in every precision; null restores the CPU's loops. Must not be called
/// while an op runs.
void use_loops(const Loops* wanted);

/// True if pieces and products stay finite, summed over k terms, for factors with these largest |x|
/// (the bits of a float32).
bool fits(uint32_t left_largest, uint32_t right_largest, int64_t k);
/// Computes the product by by.multiply(). If a number of an element's row or column is too large,
/// the element is computed from the sources in float32; p must have no right_blocks.
void multiply(const Product& p, const Loops& by = *loops());

}  // namespace nine::bf16
