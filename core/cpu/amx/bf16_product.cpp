// Products of bfloat16 pieces on AMX tiles (core/bf16_product.h).
//
// The eight tile registers hold 2 x 2 tiles of C and two tiles each of the left and the right
// factor. For each block of 32 terms and three pieces, 14 tiles are loaded for 24 products: 1 KiB
// in 27 cycles, where a core's second-level cache gives 32 to 48 bytes a cycle. Blocks of terms are
// taken kBlocks at a time, so that one factor's tiles stay in the first-level cache.
#include <immintrin.h>

#include "core/cpu/bf16_packing.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

using bf16::kGroup;
using bf16::kTile;
using bf16::Product;

constexpr int64_t kBlocks = 4;
constexpr int kTileRow = 64;  // bytes

// Eight tiles of 16 rows of 64 bytes (Intel's manual, volume 1, 18.4).
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// This thread's tiles while it lives.
class Tiles {
 public:
  Tiles() {
    static const TileConfig config;
    _tile_loadconfig(&config);
  }
  ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

// Tiles 0 to 3 are C, 4 and 5 the left factor's, 6 and 7 the right one's.
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

// M x N tiles of C += the product of `blocks` blocks of terms.
template <int M, int N, size_t kPairs>
void add_blocks(const std::array<std::pair<int, int>, kPairs>& pairs, const Product& p,
                const uint16_t* left, const uint16_t* right, int64_t blocks) {
  for (int64_t b = 0; b < blocks; ++b) {
    const auto l = [&](int piece) {
      load_left<M>(left + b * p.left.layout.block_stride + piece * kTile,
                   p.left.layout.group_stride);
    };
    const auto r = [&](int piece) {
      load_right<N>(right + b * p.right.layout.block_stride + piece * kTile,
                    p.right.layout.group_stride);
    };
    for (size_t i = 0; i < kPairs; ++i) {
      if (i == 0 || pairs[i].first != pairs[i - 1].first) l(pairs[i].first);
      if (i == 0 || pairs[i].second != pairs[i - 1].second) r(pairs[i].second);
      add_products<M, N>();
    }
  }
}

template <int M, int N>
void load_c(const float* c, int64_t ldc, bool add) {
  const int64_t bytes = ldc * 4;
  if (!add) {
    _tile_zero(0);
    if constexpr (N == 2) _tile_zero(1);
    if constexpr (M == 2) _tile_zero(2);
    if constexpr (M == 2 && N == 2) _tile_zero(3);
    return;
  }
  _tile_loadd(0, c, bytes);
  if constexpr (N == 2) _tile_loadd(1, c + kGroup, bytes);
  if constexpr (M == 2) _tile_loadd(2, c + kGroup * ldc, bytes);
  if constexpr (M == 2 && N == 2) _tile_loadd(3, c + kGroup * ldc + kGroup, bytes);
}
template <int M, int N>
void store_c(float* c, int64_t ldc) {
  const int64_t bytes = ldc * 4;
  _tile_stored(0, c, bytes);
  if constexpr (N == 2) _tile_stored(1, c + kGroup, bytes);
  if constexpr (M == 2) _tile_stored(2, c + kGroup * ldc, bytes);
  if constexpr (M == 2 && N == 2) _tile_stored(3, c + kGroup * ldc + kGroup, bytes);
}

// Rows [row, row + 16 M) and columns [column, column + 16 N) of C, terms of `blocks` blocks.
template <int M, int N, size_t kPairs>
void add_part(const std::array<std::pair<int, int>, kPairs>& pairs, const Product& p, int64_t row,
              int64_t column, int64_t first_block, int64_t blocks) {
  const uint16_t* left = p.left.tiles + row / kGroup * p.left.layout.group_stride +
                         first_block * p.left.layout.block_stride;
  const uint16_t* right = p.right.tiles + column / kGroup * p.right.layout.group_stride +
                          first_block * p.right.layout.block_stride;
  const int64_t rows = std::min(p.m - row, M * kGroup),
                columns = std::min(p.n - column, N * kGroup);
  const bool add = p.add || first_block > 0;
  float* c = p.c + row * p.ldc + column;
  if (rows == M * kGroup && columns == N * kGroup) {
    load_c<M, N>(c, p.ldc, add);
    add_blocks<M, N>(pairs, p, left, right, blocks);
    store_c<M, N>(c, p.ldc);
    return;
  }
  alignas(64) float edge[4 * kGroup * kGroup] = {};  // C's tiles reach beyond its edge
  constexpr int64_t kLd = N * kGroup;
  for (int64_t r = 0; add && r < rows; ++r) std::copy_n(c + r * p.ldc, columns, edge + r * kLd);
  load_c<M, N>(edge, kLd, true);
  add_blocks<M, N>(pairs, p, left, right, blocks);
  store_c<M, N>(edge, kLd);
  for (int64_t r = 0; r < rows; ++r) std::copy_n(edge + r * kLd, columns, c + r * p.ldc);
}

template <size_t kPairs>
void multiply_pieces(const std::array<std::pair<int, int>, kPairs>& pairs, const Product& p) {
  const int64_t all = bf16::blocks(p.k);
  for (int64_t first = 0; first < all; first += kBlocks) {
    const int64_t blocks = std::min(kBlocks, all - first);
    for (int64_t column = 0; column < p.n; column += 2 * kGroup)
      for (int64_t row = 0; row < p.m; row += 2 * kGroup) {
        const bool wide = p.n - column > kGroup, tall = p.m - row > kGroup;
        const auto part = tall ? (wide ? add_part<2, 2, kPairs> : add_part<2, 1, kPairs>)
                               : (wide ? add_part<1, 2, kPairs> : add_part<1, 1, kPairs>);
        part(pairs, p, row, column, first, blocks);
      }
  }
}

void multiply_on_tiles(const Product& p) {
  const Tiles tiles;
  switch (p.left.layout.pieces) {
    case 3:
      return multiply_pieces(bf16::kPiecePairs3, p);
    case 2:
      return multiply_pieces(bf16::kPiecePairs2, p);
    default:
      return multiply_pieces(bf16::kPiecePairs1, p);
  }
}

}  // namespace

void install(bf16::Loops& loops);
void install(bf16::Loops& loops) { loops = {pack_left, pack_right, multiply_on_tiles}; }

}  // namespace NINE_ISA
}  // namespace nine::cpu
