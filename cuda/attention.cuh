// What both directions of attention share (cuda/attention.cu, cuda/attention_backward.cu): the
// matrices of a launch, and sizes of tiles.
//
// A warp has 16 rows of a product (mma.cuh). A block keeps the tile of its rows in shared memory
// and goes through the tiles of the other side. It computes kCols columns of the results: of a head
// with more there are several blocks, each of which computes the scores from all columns, in pieces
// of kCols.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/ops.h"
#include "cuda/dropout_mask.cuh"
#include "cuda/tiles.cuh"

namespace nine::cuda {

/// How attention is cut up, for factors of kCols columns in shared memory: below 48 KB a block.
template <class Mma, int kCols>
struct AttentionTiles {
  using Store = typename Mma::Store;
  static constexpr bool kWide = kCols * sizeof(Store) > 256 || sizeof(Store) == sizeof(double);
  static constexpr int kOther = kWide ? 16 : 32;  ///< keys of a tile; of dk and dv, queries
  static constexpr int kStride = tile_stride<Store>(kCols);
  static constexpr int kProbStride = kOther + 8;  ///< of a tile of probabilities
  static constexpr int kForwardWarps = kWide ? 2 : 4;
  static constexpr int kBackwardRows = kMmaRows * (kWide ? 1 : 2);
};

/// The matrices of attention, and which part of them a block computes.
template <class T>
struct Heads {
  Matrix<T> q, k, v, lse;
  const int32_t* lengths;
  int heads, queries, keys, size;
  bool causal;
  T scale;
  DropoutMask<T> mask;
  IndexErrors errors;
  unsigned tiles, pieces;  // of rows and of columns, a block each: of one element's head
  int group;               // heads of queries that share a head of keys and values
  int shared;              // heads of queries that a block computes one by one: 1 or `group`
  int member = 0;          // which of them it computes now

  Heads(const ops::Attention& io, int64_t rows, int64_t tile_rows, int64_t tile_cols, bool of_keys,
        CudaDevice& device)
      : q(io.q),
        k(io.k),
        v(io.v),
        lse(io.lse),
        lengths(io.lengths ? static_cast<int32_t*>(io.lengths.data) : nullptr),
        heads(number(io.heads)),
        queries(number(io.queries())),
        keys(number(io.keys())),
        size(number(io.size())),
        causal(io.causal),
        scale(static_cast<T>(1 / std::sqrt(static_cast<double>(io.size())))),
        mask(io.key, io.dropout),
        errors(device.index_errors("attention")),
        tiles(blocks_of(rows, tile_rows)),
        pieces(blocks_of(io.size(), tile_cols)),
        group(number(io.heads / io.kv_heads())),
        shared(of_keys ? group : 1) {}
  static int number(int64_t n) {
    require(n <= std::numeric_limits<int>::max(), "[attention] ", n,
            " keys, queries or columns are too many for the CUDA kernels");
    return static_cast<int>(n);
  }
  /// All of them in the grid's first dimension, which has room for 2^31 - 1.
  dim3 grid(const ops::Attention& io) const {
    return dim3(grid_size(io.batch * io.heads / shared * tiles * pieces));
  }

  /// This block's element * heads + head. The blocks of one head are neighbours: they read the same
  /// keys and values.
  NINE_D int64_t pair() const {
    return static_cast<int64_t>(blockIdx.x / (tiles * pieces)) * shared + member;
  }
  NINE_D int64_t element() const { return pair() / heads; }
  NINE_D int tile() const { return static_cast<int>(blockIdx.x / pieces % tiles); }
  NINE_D unsigned piece() const { return blockIdx.x % pieces; }
  /// The first column of the block's head, and of its keys and values.
  NINE_D int64_t column() const { return pair() % heads * size; }
  NINE_D int64_t key_column() const { return pair() % heads / group * size; }
  /// The number of keys that are not padding.
  NINE_D int visible() const {
    if (lengths == nullptr) return keys;
    return checked(lengths, element(), 0, keys + 1, errors);
  }
  /// Whether query t attends to key s, of n visible ones.
  NINE_D bool attends(int t, int s, int n) const {
    return t < queries && s < n && (!causal || s <= t);
  }
  NINE_D const T* query(int t) const { return q.row(element() * queries + t) + column(); }
  NINE_D const T* key(int s) const { return k.row(element() * keys + s) + key_column(); }
  NINE_D const T* value(int s) const { return v.row(element() * keys + s) + key_column(); }
  NINE_D T& lse_of(int t) const { return lse.at(pair(), t); }
  /// Dropout's factor of query t and key s.
  NINE_D T kept(int t, int s) const { return mask.of((pair() * keys + s) * queries + t); }
};

/// Columns of a piece that the head has, and how many of them products have to go through.
struct Piece {
  int first, real, depth;
};
template <int kCols>
NINE_D Piece piece_of(int size, unsigned piece) {
  const int first = static_cast<int>(piece) * kCols,
            real = size - first < kCols ? size - first : kCols;
  return {first, real, (real + 15) / 16 * 16};
}

}  // namespace nine::cuda
