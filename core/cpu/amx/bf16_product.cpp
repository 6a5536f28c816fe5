// Products of bfloat16 pieces on AMX tiles (core/bf16_product.h).
//
// The eight tile registers hold 2 x 2 tiles of C and two tiles each of the left and the right
// factor. For each block of 32 terms and three pieces, 16 tiles are loaded for 24 products: 1 KiB
// in 24 cycles, where a core's second-level cache gives 32 to 48 bytes a cycle.
#include <immintrin.h>

#include "core/cpu/bf16_packing.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

using bf16::kGroup;
using bf16::kTile;
using bf16::PiecePair;
using bf16::Product;

constexpr int kTileRow = 64;  // bytes

// Eight tiles of 16 rows of 64 bytes (Intel's manual, volume 1, 18.4).
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Configures this thread's tiles while the object lives.
class Tiles {
 public:
  Tiles() {
    // Static, because GCC 12's intrinsic reads 8 bytes by its own account: GCC may drop a local's
    // other stores.
    static const TileConfig config;
    _tile_loadconfig(&config);
  }
  ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

// Tiles 0 to 3 hold C, 4 and 5 the left factor, 6 and 7 the right factor.
template <int M>
void load_left(const uint16_t* tile, int64_t group_stride) {
  _tile_loadd(4, tile, kTileRow);
  if constexpr (M == 2) _tile_loadd(5, tile + group_stride, kTileRow);
}
template <int N>
void load_right(const uint16_t* tile, int64_t group_stride) {
  _tile_loadd(6, tile, kTileRow);
  if constexpr (N == 2) _tile_loadd(7, tile + group_stride, kTileRow);
}
template <int M, int N>
void add_products() {
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (N == 2) _tile_dpbf16ps(1, 4, 7);
  if constexpr (M == 2) _tile_dpbf16ps(2, 5, 6);
  if constexpr (M == 2 && N == 2) _tile_dpbf16ps(3, 5, 7);
}

// Sums the products of `pairs` of pieces for `blocks` blocks of terms onto M x N tiles.
template <int M, int N, size_t kPairs>
void add_pass(const PiecePair (&pairs)[kPairs], const Product& p, const uint16_t* left,
              const uint16_t* right, int64_t first, int64_t blocks) {
  for (int64_t b = 0; b < blocks; ++b)
    for (size_t i = 0; i < kPairs; ++i) {
      const auto [l, r] = pairs[i];
      if (i == 0 || l != pairs[i - 1].first)
        load_left<M>(left + b * p.left.layout.block_stride + l * kTile, p.left.layout.group_stride);
      if (i == 0 || r != pairs[i - 1].second)
        load_right<N>(right + p.right_block(first + b) * p.right.layout.block_stride + r * kTile,
                      p.right.layout.group_stride);
      add_products<M, N>();
    }
}

template <int M, int N>
void clear_sums() {
  _tile_zero(0);
  if constexpr (N == 2) _tile_zero(1);
  if constexpr (M == 2) _tile_zero(2);
  if constexpr (M == 2 && N == 2) _tile_zero(3);
}
template <int M, int N>
void store_sums(float* to, int64_t ld) {
  const int64_t bytes = ld * 4;
  _tile_stored(0, to, bytes);
  if constexpr (N == 2) _tile_stored(1, to + kGroup, bytes);
  if constexpr (M == 2) _tile_stored(2, to + kGroup * ld, bytes);
  if constexpr (M == 2 && N == 2) _tile_stored(3, to + kGroup * ld + kGroup, bytes);
}

// Computes rows [row, row + 16 M) and columns [column, column + 16 N) of C for the terms of one
// stretch.
template <int M, int N, int kPieces>
void add_stretch(const Product& p, int64_t row, int64_t column, int64_t first_block,
                 int64_t blocks) {
  const uint16_t* left = p.left.tiles + row / kGroup * p.left.layout.group_stride +
                         first_block * p.left.layout.block_stride;
  const uint16_t* right = p.right.tiles + column / kGroup * p.right.layout.group_stride;
  clear_sums<M, N>();
  if constexpr (kPieces == 3)
    add_pass<M, N>(bf16::kSmallOfThree, p, left, right, first_block, blocks);
  if constexpr (kPieces == 2) {
    add_pass<M, N>(bf16::kAllOfTwo, p, left, right, first_block, blocks);
  } else {
    add_pass<M, N>(bf16::kLargest, p, left, right, first_block, blocks);
  }
  const int64_t rows = std::min(p.m - row, M * kGroup),
                columns = std::min(p.n - column, N * kGroup);
  const bool add = p.add || first_block > 0;
  float* c = p.c + row * p.ldc + column;
  constexpr int64_t kLd = N * kGroup;
  if (!add && rows == M * kGroup && columns == kLd) return store_sums<M, N>(c, p.ldc);
  alignas(64) float sums[M * kGroup * kLd];
  store_sums<M, N>(sums, kLd);
  for (int64_t r = 0; r < rows; ++r) {
    float* to = c + r * p.ldc;
    const float* from = sums + r * kLd;
    if (!add) {
      std::copy_n(from, columns, to);
    } else if (columns == kLd) {
      for (int64_t i = 0; i < kLd; ++i) to[i] += from[i];
    } else {
      for (int64_t i = 0; i < columns; ++i) to[i] += from[i];
    }
  }
}

template <int kPieces>
void multiply_pieces(const Product& p) {
  const int64_t all = bf16::blocks(p.k);
  for (int64_t first = 0; first < all; first += bf16::kStretch) {
    const int64_t blocks = std::min(bf16::kStretch, all - first);
    for (int64_t column = 0; column < p.n; column += 2 * kGroup)
      for (int64_t row = 0; row < p.m; row += 2 * kGroup) {
        const bool wide = p.n - column > kGroup, tall = p.m - row > kGroup;
        const auto add = tall ? (wide ? add_stretch<2, 2, kPieces> : add_stretch<2, 1, kPieces>)
                              : (wide ? add_stretch<1, 2, kPieces> : add_stretch<1, 1, kPieces>);
        add(p, row, column, first, blocks);
      }
  }
}

void multiply_on_tiles(const Product& p) {
  const Tiles tiles;
  switch (p.left.layout.pieces) {
    case 3:
      return multiply_pieces<3>(p);
    case 2:
      return multiply_pieces<2>(p);
    default:
      return multiply_pieces<1>(p);
  }
}

}  // namespace

void install(bf16::Loops& loops);
void install(bf16::Loops& loops) { loops = {pack_left, pack_right, multiply_on_tiles}; }

}  // namespace NINE_ISA
}  // namespace nine::cpu
