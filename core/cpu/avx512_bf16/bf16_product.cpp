// Products of bfloat16 numbers by AVX512-BF16 (core/bf16_product.h). VDPBF16PS multiplies 32 pairs
// of bfloat16 numbers in the time in which an FMA multiplies 16 pairs of float32 numbers.
//
// 8 rows by 32 columns of C are in 16 registers, which hides the latency of an instruction. For
// each pair of terms, two registers of the right factor and eight pairs of the left factor are
// loaded for 16 products. A core can load two registers while it multiplies two. The columns are
// the outer loop, so that few rows read the right factor from memory in its order.
#include <immintrin.h>

#include "core/cpu/bf16_packing.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

using bf16::kDepth;
using bf16::kGroup;
using bf16::kTile;
using bf16::PiecePair;
using bf16::Product;

constexpr int kRows = 8;  // rows of C that are computed at once: half a group, or one row alone

__m512bh right_pairs(const uint16_t* x) {
  return reinterpret_cast<__m512bh>(_mm512_loadu_si512(x));
}
__m512bh left_pair(const uint16_t* x) {
  int pair = 0;
  __builtin_memcpy(&pair, x, sizeof pair);
  return reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
}

// Sums the products of `pairs` of pieces for `blocks` blocks of terms. It is inlined so that the
// sums stay in registers from pass to pass.
template <int R, int N, size_t kPairs>
[[gnu::always_inline]] inline void add_pass(const PiecePair (&pairs)[kPairs], const Product& p,
                                            const uint16_t* left, const uint16_t* of_column,
                                            int64_t first, int64_t blocks, __m512 (&sums)[R][N]) {
  const bf16::Layout &l = p.left.layout, &r = p.right.layout;
  for (int64_t b = first; b < first + blocks; ++b, left += l.block_stride) {
    const uint16_t* right = of_column + p.right_block(b) * r.block_stride;
    for (const auto& [left_piece, right_piece] : pairs)
      for (int64_t t = 0; t < kDepth; t += 2) {
        const uint16_t *of_left = left + left_piece * kTile + t,
                       *of_right = right + right_piece * kTile + t * kGroup;
        __m512bh y[N];
        for (int j = 0; j < N; ++j) y[j] = right_pairs(of_right + j * r.group_stride);
        for (int i = 0; i < R; ++i) {
          const __m512bh x = left_pair(of_left + i * kDepth);
          for (int j = 0; j < N; ++j) sums[i][j] = _mm512_dpbf16_ps(sums[i][j], x, y[j]);
        }
      }
  }
}

// Computes rows [row, row + R) and columns [column, column + 16 N) of C for the terms of one
// stretch.
template <int R, int N, int kPieces>
void add_stretch(const Product& p, int64_t row, int64_t column, int64_t first_block,
                 int64_t blocks) {
  const bf16::Layout &l = p.left.layout, &r = p.right.layout;
  const uint16_t* left = p.left.tiles + row / kGroup * l.group_stride + row % kGroup * kDepth +
                         first_block * l.block_stride;
  const uint16_t* right = p.right.tiles + column / kGroup * r.group_stride;
  __m512 sums[R][N];
  for (auto& of_row : sums)
    for (__m512& sum : of_row) sum = _mm512_setzero_ps();
  if constexpr (kPieces == 3)
    add_pass(bf16::kSmallOfThree, p, left, right, first_block, blocks, sums);
  if constexpr (kPieces == 2) {
    add_pass(bf16::kAllOfTwo, p, left, right, first_block, blocks, sums);
  } else {
    add_pass(bf16::kLargest, p, left, right, first_block, blocks, sums);
  }
  const bool add = p.add || first_block > 0;
  for (int i = 0; i < R; ++i) {
    if (row + i >= p.m) break;
    float* c = p.c + (row + i) * p.ldc + column;
    for (int j = 0; j < N; ++j) {
      const int64_t columns = std::min(kGroup, p.n - column - j * kGroup);
      const auto mask = static_cast<__mmask16>((1U << columns) - 1);
      __m512 sum = sums[i][j];
      if (add) sum = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, c + j * kGroup), sum);
      _mm512_mask_storeu_ps(c + j * kGroup, mask, sum);
    }
  }
}

template <int R, int kPieces>
void multiply_rows(const Product& p) {
  const int64_t all = bf16::blocks(p.k);
  for (int64_t column = 0; column < p.n; column += 2 * kGroup)
    for (int64_t first = 0; first < all; first += bf16::kStretch)
      for (int64_t row = 0; row < p.m; row += R)
        (p.n - column > kGroup ? add_stretch<R, 2, kPieces>
                               : add_stretch<R, 1, kPieces>)(p, row, column, first,
                                                             std::min(bf16::kStretch, all - first));
}

template <int kPieces>
void multiply_pieces(const Product& p) {
  (p.m == 1 ? multiply_rows<1, kPieces> : multiply_rows<kRows, kPieces>)(p);
}

void multiply_pairs(const Product& p) {
  constexpr void (*kMultiply[])(const Product&) = {multiply_pieces<1>, multiply_pieces<2>,
                                                   multiply_pieces<3>};
  kMultiply[p.left.layout.pieces - 1](p);
}

}  // namespace

void install(bf16::Loops& loops);
void install(bf16::Loops& loops) { loops = {pack_left, pack_right, multiply_pairs}; }

}  // namespace NINE_ISA
}  // namespace nine::cpu
