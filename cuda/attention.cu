// Multi-head attention on a GPU, forward (part of cuda/ops.cuh). With running maxima and sums, as
// in FlashAttention (Dao et al., 2022, algorithm 1), nothing of size queries x keys is stored.
#include "cuda/attention.cuh"

#include <cmath>

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

// The views of ops::ListedAttention.
template <class T>
struct Lists {
  Matrix<T> q, keys_values, y;
  Matrix<T> weights;
  const int32_t *rows, *first, *counts;
  int64_t listed;
  int heads, group, size;  // `group` heads of the query read one head of the keys
  T scale;
  IndexErrors errors;

  NINE_D int32_t row(int64_t query, int i) const {
    return checked(rows, first[query] + i, 0, keys_values.rows, errors);
  }
  NINE_D T score(int64_t query, int head, int32_t key) const {
    const T *a = q.row(query) + head * size, *b = keys_values.row(key) + head / group * size;
    T sum = 0;
    for (int c = 0; c < size; ++c) sum += a[c] * b[c];
    return scale * sum;
  }
};

constexpr int kListWarps = 8;  // the most of a block

// Block (32, warps) for each query; a warp computes a head at a time, 32 keys at a time. Shared
// memory: each head's log sum over keys of e^score, and of each warp the weights of its 32 keys and
// the keys' rows.
template <class T>
__global__ void listed_attention_kernel(Lists<T> io) {
  const int64_t query = blockIdx.x;
  const int lane = static_cast<int>(threadIdx.x), n = io.counts[query];
  if (io.first[query] < 0 || n < 1 || io.first[query] + int64_t{n} > io.listed) {
    if (lane == 0 && threadIdx.y == 0) report(io.errors, query, n, 1, io.listed);
    return;
  }
  const int warp = static_cast<int>(threadIdx.y), warps = static_cast<int>(blockDim.y);
  T* const lse = shared_memory<T>();
  T* const weights = lse + io.heads + warp * kWarp;
  int32_t* const keys = reinterpret_cast<int32_t*>(lse + io.heads + warps * kWarp) + warp * kWarp;
  for (int head = warp; head < io.heads; head += warps) {
    T* const y = io.y.row(query) + head * io.size;
    RunningLogSumExp<T> all;
    for (int begin = 0; begin < n; begin += kWarp) {
      const bool real = begin + lane < n;
      const int32_t key = io.row(query, real ? begin + lane : begin);
      const T score = real ? io.score(query, head, key) : -std::numeric_limits<T>::infinity();
      const T old = all.raise(warp_max(score)), p = real ? vexp(score - all.top) : T(0);
      all.sum += warp_sum(p);
      __syncwarp();  // the warp is done with the earlier keys
      weights[lane] = p;
      keys[lane] = key;
      __syncwarp();
      const int count = n - begin < kWarp ? n - begin : kWarp;
      for (int c = lane; c < io.size; c += kWarp) {
        T sum = begin > 0 ? old * y[c] : T(0);
        for (int i = 0; i < count; ++i)
          sum +=
              weights[i] * io.keys_values.row(keys[i])[(io.heads + head) / io.group * io.size + c];
        y[c] = begin + kWarp < n ? sum : sum / all.sum;
      }
    }
    if (lane == 0) lse[head] = all.value();
  }
  if (io.weights.data == nullptr) return;
  __syncthreads();
  for (int i = warp * kWarp + lane; i < n && i < io.weights.cols; i += warps * kWarp) {
    const int32_t key = io.row(query, i);
    double sum = 0;
    for (int head = 0; head < io.heads; ++head)
      sum += static_cast<double>(vexp(io.score(query, head, key) - lse[head]));
    io.weights.at(query, i) = static_cast<T>(sum / io.heads);
  }
}

}  // namespace

void listed_attention(const ops::ListedAttention& io) {
  dispatch_float(io.q.dtype, "listed_attention", [&]<class T>(T) {
    CudaDevice& device = CudaDevice::of(io.q);
    const auto ids = [](const View& v) { return static_cast<const int32_t*>(v.data); };
    Lists<T> lists{.q = Matrix<T>(io.q),
                   .keys_values = Matrix<T>(io.keys_values),
                   .y = Matrix<T>(io.y),
                   .weights = {},
                   .rows = ids(io.rows),
                   .first = ids(io.first),
                   .counts = ids(io.counts),
                   .listed = io.rows.elements(),
                   .heads = static_cast<int>(io.heads),
                   .group = static_cast<int>(io.heads / io.kv_heads()),
                   .size = static_cast<int>(io.size()),
                   .scale = static_cast<T>(1 / std::sqrt(static_cast<double>(io.size()))),
                   .errors = device.index_errors("listed_attention")};
    if (io.weights) lists.weights = Matrix<T>(io.weights);
    const int64_t warps = std::min<int64_t>(io.heads, kListWarps);
    launch(device, "listed_attention", listed_attention_kernel<T>, dim3(grid_size(io.q.rows())),
           dim3(kWarp, static_cast<unsigned>(warps)),
           static_cast<size_t>(io.heads + warps * kWarp) * sizeof(T) +
               static_cast<size_t>(warps * kWarp) * sizeof(int32_t),
           lists);
  });
}

void attention(const ops::Attention& io) {
  dispatch_float(io.q.dtype, "attention", [&]<class T>(T) {
    with_mma<T>(io.size(), [&]<class Mma, int kCols>() {
      using Tiles = AttentionTiles<Mma, kCols>;
      CudaDevice& device = CudaDevice::of(io.q);
      const int64_t warps = std::clamp<int64_t>(blocks_of(io.queries(), kMmaRows), 1,
                                                Tiles::kForwardWarps),
                    rows = warps * kMmaRows;
      const Heads<T> h(io, io.queries(), rows, kCols, false, device);
      const int64_t numbers =
          (rows + 2 * Tiles::kOther) * Tiles::kStride + rows * Tiles::kProbStride;
      launch(device, "attention", attention_kernel<Mma, kCols>, h.grid(io),
             dim3(kWarp, static_cast<unsigned>(warps)),
             static_cast<size_t>(numbers) * sizeof(typename Tiles::Store), h, Matrix<T>(io.y));
    });
  });
}

}  // namespace nine::cuda
