// Multi-head attention on a GPU, backward (part of cuda/ops.cuh). The probabilities are computed
// again from the scores and lse, in two kernels in which no two blocks write to the same memory: a
// block has queries for dq, and keys for dk and dv.
#include "core/vmath.h"
#include "cuda/attention.cuh"
#include "cuda/launch.cuh"
#include "cuda/ops.cuh"

namespace nine::cuda {
namespace {

// delta[b * heads + h][t] = dy . y over the head's columns, which equals the sum over keys of p dp.
// Block (32, 8): a warp a row.
constexpr int kDeltaRows = 8;
template <class T>
__global__ void delta_kernel(Matrix<T> y, Matrix<T> dy, int64_t heads, int64_t queries,
                             int64_t size, int64_t count, T* delta) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kDeltaRows + threadIdx.y;
  if (i >= count) return;  // the whole warp
  const int64_t head = i / queries, row = head / heads * queries + i % queries,
                column = head % heads * size;
  const T *a = y.row(row) + column, *b = dy.row(row) + column;
  T sum = 0;
  for (int64_t c = threadIdx.x; c < size; c += kWarp) sum += a[c] * b[c];
  sum = warp_sum(sum);
  if (threadIdx.x == 0) delta[i] = sum;
}

template <class T>
struct Backward {
  Matrix<T> dy;
  const T* delta;
  Matrix<T> dq, dk, dv;  // those that are not computed have no memory
  bool add_q, add_k, add_v;
};

// With p = exp(score - lse), dropout's factors m and dp = m dy . v: dscore = scale p (dp - delta),
// dq = dscore k, dk = dscore' q, dv = (m p)' dy.
//
// A block's rows are queries (dq) or, of_keys, keys (dk and dv), the tiles that it goes through of
// the others: of both the two matrices that belong together, q and dy, k and v. Block (32, 2 rows /
// 16): two warps share 16 rows. One has the first half of a tile's scores and of the results'
// columns, the other one the second half.
template <class Mma, int kCols, bool of_keys>
__global__ void __launch_bounds__(128, kCols > 64 ? 2 : 3)
    attention_backward_kernel(Heads<typename Mma::Number> h, Backward<typename Mma::Number> g) {
  using T = typename Mma::Number;
  using Store = typename Mma::Store;
  using Tiles = AttentionTiles<Mma, kCols>;
  constexpr int kRows = Tiles::kBackwardRows, kOther = Tiles::kOther, kStride = Tiles::kStride,
                kProbs = Tiles::kProbStride, kScores = kOther / 2 / kMmaCols,
                kResults = kCols / 2 / kMmaCols;
  Store* const rows_q = shared_memory<Store>();     // of queries or keys
  Store* const rows_dy = rows_q + kRows * kStride;  // of dy or values
  Store* const other_k = rows_dy + kRows * kStride;
  Store* const other_v = other_k + kOther * kStride;
  Store* const dscores = other_v + kOther * kStride;
  Store* const probs = dscores + kRows * kProbs;  // of_keys only

  const int warp_row = static_cast<int>(threadIdx.y) / 2 * kMmaRows,
            side = static_cast<int>(threadIdx.y) % 2, group = static_cast<int>(threadIdx.x) / 4,
            pair = 2 * (static_cast<int>(threadIdx.x) % 4);
  const unsigned own = h.piece();
  const int r0 = h.tile() * kRows, n = h.visible();
  const int64_t base = h.element() * h.queries;
  const int real = of_keys ? n : h.queries, others = of_keys ? h.queries : n;
  // Of causal attention, the tiles of which some query sees some key.
  const int begin = of_keys && h.causal ? r0 / kOther * kOther : 0,
            seen = !of_keys && h.causal && r0 + kRows < n ? r0 + kRows : others,
            end = r0 < real ? seen : 0;
  T first[kResults][4] = {}, second[kResults][4] = {};  // dq or dk; dv

  // A block of keys goes through all heads of queries that read them; a block of queries has one.
  for (h.member = 0; h.member < h.shared; ++h.member) {
    for (int o0 = begin; o0 < end; o0 += kOther) {
      T score[kScores][4] = {}, dp[kScores][4] = {};
      for (unsigned i = 1; i <= h.pieces; ++i) {  // the last one is the block's own
        const Piece piece = piece_of<kCols>(h.size, (own + i) % h.pieces);
        const int t0 = of_keys ? o0 : r0, s0 = of_keys ? r0 : o0;
        const T *q = h.query(t0) + piece.first,
                *dy = g.dy.row(base + t0) + h.column() + piece.first, *k = h.key(s0) + piece.first,
                *v = h.value(s0) + piece.first;
        __syncthreads();  // all warps are done with what lay there
        if (o0 == begin || h.pieces > 1) {
          load_tile<Mma, kCols>(rows_q, kRows, of_keys ? k : q, of_keys ? h.k.ld : h.q.ld,
                                real - r0, piece.real);
          load_tile<Mma, kCols>(rows_dy, kRows, of_keys ? v : dy, of_keys ? h.v.ld : g.dy.ld,
                                real - r0, piece.real);
        }
        load_tile<Mma, kCols>(other_k, kOther, of_keys ? q : k, of_keys ? h.q.ld : h.k.ld,
                              others - o0, piece.real);
        load_tile<Mma, kCols>(other_v, kOther, of_keys ? dy : v, of_keys ? g.dy.ld : h.v.ld,
                              others - o0, piece.real);
        __syncthreads();
        const int half = side * kOther / 2 * kStride;
        Mma::template multiply<kScores, true>(score, rows_q + warp_row * kStride, kStride,
                                              other_k + half, kStride, piece.depth);
        Mma::template multiply<kScores, true>(dp, rows_dy + warp_row * kStride, kStride,
                                              other_v + half, kStride, piece.depth);
      }
#pragma unroll
      for (int j = 0; j < kScores; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = warp_row + group + i / 2 * 8,
                    column = side * kOther / 2 + kMmaCols * j + pair + i % 2;
          const int t = of_keys ? o0 + column : r0 + row, s = of_keys ? r0 + row : o0 + column;
          T prob = 0, dscore = 0;
          if (h.attends(t, s, n)) {
            const T p = vexp(h.scale * score[j][i] - h.lse_of(t)), m = h.kept(t, s);
            prob = m * p;
            dscore = h.scale * p * (m * dp[j][i] - g.delta[h.pair() * h.queries + t]);
          }
          score[j][i] = prob;
          dp[j][i] = dscore;
        }
#pragma unroll
      for (int j = 0; j < kScores; ++j)  // after all loads of lse and delta
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int at = (warp_row + group + i / 2 * 8) * kProbs + side * kOther / 2 +
                         kMmaCols * j + pair + i % 2;
          dscores[at] = Mma::stored(dp[j][i]);
          if constexpr (of_keys) probs[at] = Mma::stored(score[j][i]);
        }
      __syncthreads();
      const int columns = side * kCols / 2;
      Mma::template multiply<kResults, false>(first, dscores + warp_row * kProbs, kProbs,
                                              other_k + columns, kStride, kOther);
      if constexpr (of_keys)
        Mma::template multiply<kResults, false>(second, probs + warp_row * kProbs, kProbs,
                                                other_v + columns, kStride, kOther);
    }
  }
  h.member = 0;

  const Piece piece = piece_of<kCols>(h.size, own);
  const int count = of_keys ? h.keys : h.queries;
  const Matrix<T> to = of_keys ? g.dk : g.dq;
  const bool add = of_keys ? g.add_k : g.add_q;
#pragma unroll
  for (int j = 0; j < kResults; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = r0 + warp_row + group + i / 2 * 8;
      const int column = side * kCols / 2 + kMmaCols * j + pair + i % 2;
      if (row >= count || column >= piece.real) continue;
      const int64_t at = h.element() * count + row,
                    c = (of_keys ? h.key_column() : h.column()) + piece.first + column;
      if (to.data != nullptr) put(add, to.at(at, c), first[j][i]);
      if constexpr (of_keys)
        if (g.dv.data != nullptr) put(g.add_v, g.dv.at(at, c), second[j][i]);
    }
}

template <class T>
Matrix<T> matrix_of(const OutputView& out) {
  return out.view ? Matrix<T>(out.view) : Matrix<T>();
}

template <class Mma, int kCols, bool of_keys>
void run(const ops::Attention& io, const Backward<typename Mma::Number>& g, CudaDevice& device) {
  using Tiles = AttentionTiles<Mma, kCols>;
  constexpr int kRows = Tiles::kBackwardRows;
  const Heads<typename Mma::Number> h(io, of_keys ? io.keys() : io.queries(), kRows, kCols, of_keys,
                                      device);
  constexpr size_t numbers =
      2 * (kRows + Tiles::kOther) * Tiles::kStride + (of_keys ? 2 : 1) * kRows * Tiles::kProbStride;
  launch(device, "attention_backward", attention_backward_kernel<Mma, kCols, of_keys>, h.grid(io),
         dim3(kWarp, 2 * kRows / kMmaRows), numbers * sizeof(typename Mma::Store), h, g);
}

}  // namespace

void attention_backward(const ops::Attention& io, const ops::AttentionGradients& g) {
  dispatch_float(io.q.dtype, "attention_backward", [&]<class T>(T) {
    CudaDevice& device = CudaDevice::of(io.q);
    const int64_t queries = io.queries(), count = io.batch * io.heads * queries;
    T* delta = device.scratch<T>(std::max<int64_t>(1, count));
    launch(device, "attention_backward", delta_kernel<T>, dim3(blocks_of(count, kDeltaRows)),
           dim3(kWarp, kDeltaRows), 0, Matrix<T>(io.y), Matrix<T>(g.dy), io.heads, queries,
           io.size(), count, delta);
    const Backward<T> b{.dy = Matrix<T>(g.dy),
                        .delta = delta,
                        .dq = matrix_of<T>(g.dq),
                        .dk = matrix_of<T>(g.dk),
                        .dv = matrix_of<T>(g.dv),
                        .add_q = g.dq.add,
                        .add_k = g.dk.add,
                        .add_v = g.dv.add};
    with_mma<T>(io.size(), [&]<class Mma, int kCols>() {
      if (g.dq.view) run<Mma, kCols, false>(io, b, device);
      if (g.dk.view || g.dv.view) run<Mma, kCols, true>(io, b, device);
    });
  });
}

}  // namespace nine::cuda
