// Multi-head attention on a GPU, forward (part of cuda/ops.cuh). With running maxima and sums, as
// in FlashAttention (Dao et al., 2022, algorithm 1), nothing of size queries x keys is stored.
#include "cuda/attention.cuh"

#include "core/log_sum_exp.h"
#include "cuda/launch.cuh"
#include "cuda/ops.cuh"

namespace nine::cuda {
namespace {

// The sum or maximum over the four lanes that share rows of a product.
template <class T>
NINE_D T row_sum(T x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}
template <class T>
NINE_D T row_max(T x) {
  for (int mask = 1; mask <= 2; mask *= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, x, mask);
    x = other > x ? other : x;
  }
  return x;
}

// Block (32, warps): a warp has 16 queries. Shared memory: the queries, a tile of keys and one of
// values, and a tile of probabilities a warp.
template <class Mma, int kCols>
__global__ void __launch_bounds__(128, kCols > 64 ? 2 : 3)
    attention_kernel(Heads<typename Mma::Number> h, Matrix<typename Mma::Number> y) {
  using T = typename Mma::Number;
  using Store = typename Mma::Store;
  using Tiles = AttentionTiles<Mma, kCols>;
  constexpr int kKeys = Tiles::kOther, kStride = Tiles::kStride, kProbs = Tiles::kProbStride;
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  const int rows = static_cast<int>(blockDim.y) * kMmaRows,
            warp_row = static_cast<int>(threadIdx.y) * kMmaRows;
  Store* const queries = shared_memory<Store>();
  Store* const keys = queries + rows * kStride;
  Store* const values = keys + kKeys * kStride;
  Store* const probs = values + kKeys * kStride + warp_row * kProbs;

  const unsigned own = h.piece();
  const int t0 = h.tile() * rows, n = h.visible(), end = h.causal && t0 + rows < n ? t0 + rows : n;
  const int group = static_cast<int>(threadIdx.x) / 4,
            pair = 2 * (static_cast<int>(threadIdx.x) % 4);
  const int t = t0 + warp_row + group;  // and t + 8
  T out[kCols / kMmaCols][4] = {};
  RunningLogSumExp<T> all[2];

  for (int s0 = 0; s0 < end; s0 += kKeys) {
    T score[kKeys / kMmaCols][4] = {};
    for (unsigned i = 1; i <= h.pieces; ++i) {  // the last one is the block's own
      const Piece piece = piece_of<kCols>(h.size, (own + i) % h.pieces);
      __syncthreads();  // all warps are done with what lay there
      if (s0 == 0 || h.pieces > 1)
        load_tile<Mma, kCols>(queries, rows, h.query(t0) + piece.first, h.q.ld, h.queries - t0,
                              piece.real);
      load_tile<Mma, kCols>(keys, kKeys, h.key(s0) + piece.first, h.k.ld, n - s0, piece.real);
      if (i == h.pieces)
        load_tile<Mma, kCols>(values, kKeys, h.value(s0) + piece.first, h.v.ld, n - s0, piece.real);
      __syncthreads();
      Mma::template multiply<kKeys / kMmaCols, true>(score, queries + warp_row * kStride, kStride,
                                                     keys, kStride, piece.depth);
    }
    T tile_top[2] = {kNone, kNone};
#pragma unroll
    for (int j = 0; j < kKeys / kMmaCols; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int s = s0 + kMmaCols * j + pair + i % 2;
        // Rows that are no queries are as query 0: they have a maximum and are not written.
        const bool seen = s < n && (!h.causal || s <= t + i / 2 * 8);
        score[j][i] = seen ? h.scale * score[j][i] : kNone;
        tile_top[i / 2] = score[j][i] > tile_top[i / 2] ? score[j][i] : tile_top[i / 2];
      }
    T old[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) old[half] = all[half].raise(row_max(tile_top[half]));
#pragma unroll
    for (int j = 0; j < kKeys / kMmaCols; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int s = s0 + kMmaCols * j + pair + i % 2, row = t + i / 2 * 8;
        const T prob = vexp(score[j][i] - all[i / 2].top);
        all[i / 2].sum += prob;
        probs[(group + i / 2 * 8) * kProbs + kMmaCols * j + pair + i % 2] =
            Mma::stored(h.attends(row, s, n) ? prob * h.kept(row, s) : T(0));
      }
    __syncwarp();
#pragma unroll
    for (int j = 0; j < kCols / kMmaCols; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) out[j][i] *= old[i / 2];
    Mma::template multiply<kCols / kMmaCols, false>(out, probs, kProbs, values, kStride, kKeys);
  }

  const Piece piece = piece_of<kCols>(h.size, own);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    all[half].sum = row_sum(all[half].sum);
    const int row = t + half * 8;
    if (row >= h.queries) continue;
    T* to = y.row(h.element() * h.queries + row) + h.column() + piece.first;
#pragma unroll
    for (int j = 0; j < kCols / kMmaCols; ++j)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int column = kMmaCols * j + pair + i;
        if (column < piece.real) to[column] = end > 0 ? out[j][2 * half + i] / all[half].sum : T(0);
      }
    if (own == 0 && pair == 0)
      h.lse_of(row) = end > 0 ? all[half].value() : std::numeric_limits<T>::infinity();
  }
}

}  // namespace

void attention(const ops::Attention& io) {
  dispatch_float(io.q.dtype, "attention", [&]<class T>(T) {
    with_mma<T>(io.size(), [&]<class Mma, int kCols>() {
      using Tiles = AttentionTiles<Mma, kCols>;
      CudaDevice& device = CudaDevice::of(io.q);
      const int64_t warps = std::clamp<int64_t>(blocks_of(io.queries(), kMmaRows), 1,
                                                Tiles::kForwardWarps),
                    rows = warps * kMmaRows;
      const Heads<T> h(io, io.queries(), rows, kCols, device);
      const int64_t numbers =
          (rows + 2 * Tiles::kOther) * Tiles::kStride + rows * Tiles::kProbStride;
      launch(device, "attention", attention_kernel<Mma, kCols>, h.grid(io),
             dim3(kWarp, static_cast<unsigned>(warps)),
             static_cast<size_t>(numbers) * sizeof(typename Tiles::Store), h, Matrix<T>(io.y));
    });
  });
}

}  // namespace nine::cuda
