// Products of bfloat16 numbers by FMAs of float32, for CPUs that do not multiply bfloat16. The bits
// are those of AVX512-BF16 and of emulation_of_pairs(). One product of pieces takes little longer
// than one product of float32.
//
// A bfloat16 is the upper half of a float32, so a mask reads the odd numbers of a register of
// pairs, and a shift reads the even numbers. 8 registers hold 4 rows by 16 columns of C. A pair of
// terms makes 16 FMAs, 6 loads and 12 masks and shifts, which fit beside the work of the two FMA
// units.
#include <algorithm>

#include "core/bf16_product.h"
#include "core/cpu/bf16_packing.h"
#include "core/flush_subnormals.h"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif

namespace nine::bf16 {

#if defined(__AVX2__) && defined(__FMA__)
namespace {

constexpr int kRows = 4;     // rows of C at once
constexpr int kVectors = 2;  // of columns: kGroup in all

__m256 odd_terms(__m256i pairs) {
  return _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(int{-65536})));
}
__m256 even_terms(__m256i pairs) { return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16)); }

// Sums the products of `pairs` of pieces for `blocks` blocks of terms; inlined, so that the sums
// stay in registers from pass to pass.
template <size_t kPairs>
[[gnu::always_inline]] inline void add_pass(const PiecePair (&pairs)[kPairs], const Product& p,
                                            const uint16_t* left, const uint16_t* of_column,
                                            int64_t first, int64_t blocks,
                                            __m256 (&sums)[kRows][kVectors]) {
  const Layout &l = p.left.layout, &r = p.right.layout;
  for (int64_t b = first; b < first + blocks; ++b, left += l.block_stride) {
    const uint16_t* right = of_column + p.right_block(b) * r.block_stride;
    for (const auto& [left_piece, right_piece] : pairs)
      for (int64_t t = 0; t < kDepth; t += 2) {
        const uint16_t *of_left = left + left_piece * kTile + t,
                       *of_right = right + right_piece * kTile + t * kGroup;
        __m256 odd[kVectors], even[kVectors];
        for (int j = 0; j < kVectors; ++j) {
          const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(of_right + 16 * j));
          odd[j] = odd_terms(y);
          even[j] = even_terms(y);
        }
        for (int i = 0; i < kRows; ++i) {
          int pair = 0;
          __builtin_memcpy(&pair, of_left + i * kDepth, sizeof pair);
          const __m256i x = _mm256_set1_epi32(pair);
          for (int j = 0; j < kVectors; ++j)
            sums[i][j] = _mm256_fmadd_ps(odd_terms(x), odd[j], sums[i][j]);
          for (int j = 0; j < kVectors; ++j)
            sums[i][j] = _mm256_fmadd_ps(even_terms(x), even[j], sums[i][j]);
        }
      }
  }
}

// Computes sums (4, 16) = the terms of one stretch, from block `first` on, for rows from `left` on,
// where this block is, and columns from `right` on, where block 0 is.
template <int kPieces>
[[gnu::noinline]] void sum_stretch(const Product& p, const uint16_t* left, const uint16_t* right,
                                   int64_t first, int64_t blocks, float* sums) {
  __m256 s[kRows][kVectors];
  for (auto& of_row : s)
    for (__m256& sum : of_row) sum = _mm256_setzero_ps();
  if constexpr (kPieces == 3) add_pass(kSmallOfThree, p, left, right, first, blocks, s);
  if constexpr (kPieces == 2) {
    add_pass(kAllOfTwo, p, left, right, first, blocks, s);
  } else {
    add_pass(kLargest, p, left, right, first, blocks, s);
  }
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kVectors; ++j) _mm256_store_ps(sums + i * kGroup + 8 * j, s[i][j]);
}

// Computes rows [row, row + rows), a group or fewer, and columns [column, column + 16) of C for one
// stretch. The sums flush subnormal numbers, as the instruction does; their addition to C is
// float32's.
template <int kPieces>
void add_stretch(const Product& p, int64_t row, int64_t column, int64_t first_block,
                 int64_t blocks) {
  const Layout &l = p.left.layout, &r = p.right.layout;
  const uint16_t* left =
      p.left.tiles + row / kGroup * l.group_stride + first_block * l.block_stride;
  const uint16_t* right = p.right.tiles + column / kGroup * r.group_stride;
  const int64_t rows = std::min(kGroup, p.m - row), columns = std::min(kGroup, p.n - column);
  alignas(32) float sums[kGroup * kGroup];
  {
    const FlushSubnormals flush;
    for (int64_t i = 0; i < rows; i += kRows)
      sum_stretch<kPieces>(p, left + i * kDepth, right, first_block, blocks, sums + i * kGroup);
  }
  const bool add = p.add || first_block > 0;
  for (int64_t i = 0; i < rows; ++i) {
    float* const c = p.c + (row + i) * p.ldc + column;
    const float* const sum = sums + i * kGroup;
    for (int64_t j = 0; j < columns; ++j) c[j] = add ? c[j] + sum[j] : sum[j];
  }
}

template <int kPieces>
void multiply_pieces(const Product& p) {
  const int64_t all = blocks(p.k);
  for (int64_t column = 0; column < p.n; column += kGroup)
    for (int64_t first = 0; first < all; first += kStretch)
      for (int64_t row = 0; row < p.m; row += kGroup)
        add_stretch<kPieces>(p, row, column, first, std::min(kStretch, all - first));
}

void multiply_pairs(const Product& p) {
  constexpr void (*kMultiply[])(const Product&) = {multiply_pieces<1>, multiply_pieces<2>,
                                                   multiply_pieces<3>};
  kMultiply[p.left.layout.pieces - 1](p);
}

}  // namespace

const Loops* pairs_by_fma() {
  static const Loops all{cpu::pack_left, cpu::pack_right, multiply_pairs};
  return &all;
}
#else
const Loops* pairs_by_fma() { return nullptr; }
#endif

}  // namespace nine::bf16
