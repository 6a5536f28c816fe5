// Multi-head attention on a GPU (part of cuda/ops.cuh). With running maxima and sums, as in
// FlashAttention, nothing of size queries x keys is stored. A block computes kQueries queries of
// one head and goes through the keys in tiles of kKeys. Backward computes the probabilities again
// from the scores and lse, in two kernels in which no two blocks write to the same memory: a block
// is a tile of queries for dq, and a tile of keys for dk and dv.
#include "core/vmath.h"
#include "cuda/dropout_mask.cuh"
#include "cuda/launch.cuh"
#include "cuda/ops.cuh"

#include <cmath>

namespace nine::cuda {
namespace {

constexpr int kQueries = 8;   // queries (or keys) of a block, one for each warp
constexpr int kKeys = kWarp;  // keys of a tile, one for each lane

template <class T>
struct Heads {
  Matrix<T> q, k, v, lse;
  const int32_t* lengths;
  int64_t batch, heads, queries, keys, size;
  bool causal;
  T scale;
  DropoutMask<T> mask;
  IndexErrors errors;

  int64_t tiles;  // of kQueries queries (or keys) of one element's head, one for each block

  // This block's element * heads + head. The tiles of one head are neighbours: they read the same
  // keys and values.
  NINE_D int64_t pair() const { return blockIdx.x / tiles; }
  // This warp's query (or key).
  NINE_D int64_t own_row() const { return blockIdx.x % tiles * kQueries + threadIdx.y; }
  // The batch element of this block and the first column of its head.
  NINE_D int64_t element() const { return pair() / heads; }
  NINE_D int64_t column() const { return pair() % heads * size; }
  // The number of keys that are not padding.
  NINE_D int64_t visible() const {
    if (lengths == nullptr) return keys;
    return checked(lengths, element(), 0, keys + 1, errors);
  }
  // Whether query t attends to key s, of n visible ones.
  NINE_D bool attends(int64_t t, int64_t s, int64_t n) const {
    return s < n && (!causal || s <= t);
  }
  NINE_D const T* query(int64_t t) const { return q.row(element() * queries + t) + column(); }
  NINE_D const T* key(int64_t s) const { return k.row(element() * keys + s) + column(); }
  NINE_D const T* value(int64_t s) const { return v.row(element() * keys + s) + column(); }
  NINE_D T& lse_of(int64_t t) const { return lse.at(pair(), t); }
  // Dropout's factor of query t and key s.
  NINE_D T kept(int64_t t, int64_t s) const { return mask.of((pair() * keys + s) * queries + t); }
};

template <class T>
NINE_D T dot(const T* a, const T* b, int64_t n) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// Block (32, kQueries): a warp computes one query. A lane first computes the score of one key of
// the tile, then every 32nd element of the query's result. Shared memory holds, for each warp, the
// unnormalised result [size] and the tile's probabilities [kKeys].
template <class T>
__global__ void attention_kernel(Heads<T> h, Matrix<T> y) {
  T* result = shared_memory<T>() + threadIdx.y * (h.size + kKeys);
  T* probs = result + h.size;
  const int64_t t = h.own_row(), n = h.visible();
  const bool real = t < h.queries;
  for (int64_t i = threadIdx.x; i < h.size; i += kWarp) result[i] = T(0);
  T top = -std::numeric_limits<T>::infinity(), sum = 0;
  const int64_t end = !real ? 0 : h.causal && t + 1 < n ? t + 1 : n;
  for (int64_t first = 0; first < end; first += kKeys) {
    const int64_t s = first + threadIdx.x;
    const T score =
        s < end ? h.scale * dot(h.query(t), h.key(s), h.size) : -std::numeric_limits<T>::infinity();
    const T tile_top = warp_max(score), high = tile_top > top ? tile_top : top;
    const T prob = vexp(score - high), old = vexp(top - high);
    sum = sum * old + warp_sum(prob);
    top = high;
    __syncwarp();
    probs[threadIdx.x] = s < end ? prob * h.kept(t, s) : T(0);
    __syncwarp();
    const int64_t count = end - first < kKeys ? end - first : kKeys;
    for (int64_t i = threadIdx.x; i < h.size; i += kWarp) {
      T r = result[i] * old;
      for (int64_t j = 0; j < count; ++j) r += probs[j] * h.value(first + j)[i];
      result[i] = r;
    }
  }
  if (!real) return;
  T* out = y.row(h.element() * h.queries + t) + h.column();
  for (int64_t i = threadIdx.x; i < h.size; i += kWarp) out[i] = end > 0 ? result[i] / sum : T(0);
  if (threadIdx.x == 0)
    h.lse_of(t) = end > 0 ? top + vlog(sum) : std::numeric_limits<T>::infinity();
}

// delta[b * heads + h][t] = dy . y over the head's columns, which equals the sum over keys of p dp.
template <class T>
struct Delta {
  Matrix<T> y, dy;
  int64_t heads, queries, size;
  T* delta;
  NINE_D void operator()(int64_t i, int64_t t) const {
    const int64_t row = i / heads * queries + t, column = i % heads * size;
    delta[i * queries + t] = dot(dy.row(row) + column, y.row(row) + column, size);
  }
};

// With p = exp(score - lse), dropout's factors m and dp = m dy . v: dscore = p (dp - delta), dq =
// scale dscore k, dk = scale dscore' q, dv = (m p)' dy. Block (32, kQueries): a warp for each
// query, a lane for each key of the tile.
template <class T>
__global__ void attention_dq_kernel(Heads<T> h, Matrix<T> dy, const T* delta, Matrix<T> dq,
                                    bool add) {
  T* result = shared_memory<T>() + threadIdx.y * (h.size + kKeys);
  T* dscores = result + h.size;
  const int64_t t = h.own_row(), n = h.visible();
  if (t >= h.queries) return;  // the whole warp returns, and only barriers of a warp follow
  const int64_t end = h.causal && t + 1 < n ? t + 1 : n;
  const T* dy_row = dy.row(h.element() * h.queries + t) + h.column();
  for (int64_t i = threadIdx.x; i < h.size; i += kWarp) result[i] = T(0);
  for (int64_t first = 0; first < end; first += kKeys) {
    const int64_t s = first + threadIdx.x;
    T dscore = 0;
    if (s < end) {
      const T p = vexp(h.scale * dot(h.query(t), h.key(s), h.size) - h.lse_of(t));
      dscore = h.scale * p *
               (h.kept(t, s) * dot(dy_row, h.value(s), h.size) - delta[h.pair() * h.queries + t]);
    }
    __syncwarp();
    dscores[threadIdx.x] = dscore;
    __syncwarp();
    const int64_t count = end - first < kKeys ? end - first : kKeys;
    for (int64_t i = threadIdx.x; i < h.size; i += kWarp) {
      T r = result[i];
      for (int64_t j = 0; j < count; ++j) r += dscores[j] * h.key(first + j)[i];
      result[i] = r;
    }
  }
  T* out = dq.row(h.element() * h.queries + t) + h.column();
  for (int64_t i = threadIdx.x; i < h.size; i += kWarp) put(add, out[i], result[i]);
}

// Block (32, kQueries): a warp for each key, a lane for each query of the tile.
template <class T>
__global__ void attention_dkv_kernel(Heads<T> h, Matrix<T> dy, const T* delta, Matrix<T> dk,
                                     bool add_k, Matrix<T> dv, bool add_v) {
  T* result_k = shared_memory<T>() + threadIdx.y * 2 * (h.size + kKeys);
  T *result_v = result_k + h.size, *dscores = result_v + h.size, *probs = dscores + kKeys;
  const int64_t s = h.own_row(), n = h.visible();
  if (s >= h.keys) return;
  for (int64_t i = threadIdx.x; i < h.size; i += kWarp) result_k[i] = result_v[i] = T(0);
  const int64_t begin = h.causal ? s / kWarp * kWarp : 0, end = s < n ? h.queries : 0;
  for (int64_t first = begin; first < end; first += kWarp) {
    const int64_t t = first + threadIdx.x;
    T dscore = 0, prob = 0;
    if (t < end && h.attends(t, s, n)) {
      const T* dy_row = dy.row(h.element() * h.queries + t) + h.column();
      const T p = vexp(h.scale * dot(h.query(t), h.key(s), h.size) - h.lse_of(t));
      const T m = h.kept(t, s);
      dscore =
          h.scale * p * (m * dot(dy_row, h.value(s), h.size) - delta[h.pair() * h.queries + t]);
      prob = m * p;
    }
    __syncwarp();
    dscores[threadIdx.x] = dscore;
    probs[threadIdx.x] = prob;
    __syncwarp();
    const int64_t count = end - first < kWarp ? end - first : kWarp;
    for (int64_t i = threadIdx.x; i < h.size; i += kWarp) {
      T a = result_k[i], b = result_v[i];
      for (int64_t j = 0; j < count; ++j) {
        a += dscores[j] * h.query(first + j)[i];
        b += probs[j] * dy.at(h.element() * h.queries + first + j, h.column() + i);
      }
      result_k[i] = a;
      result_v[i] = b;
    }
  }
  for (int64_t i = threadIdx.x; i < h.size; i += kWarp) {
    if (dk.data != nullptr)
      put(add_k, dk.row(h.element() * h.keys + s)[h.column() + i], result_k[i]);
    if (dv.data != nullptr)
      put(add_v, dv.row(h.element() * h.keys + s)[h.column() + i], result_v[i]);
  }
}

// With a block for each tile of `rows` queries or keys.
template <class T>
Heads<T> heads_of(const ops::Attention& io, int64_t rows, CudaDevice& device) {
  return {.q = Matrix<T>(io.q),
          .k = Matrix<T>(io.k),
          .v = Matrix<T>(io.v),
          .lse = Matrix<T>(io.lse),
          .lengths = io.lengths ? static_cast<int32_t*>(io.lengths.data) : nullptr,
          .batch = io.batch,
          .heads = io.heads,
          .queries = io.queries(),
          .keys = io.keys(),
          .size = io.size(),
          .causal = io.causal,
          .scale = static_cast<T>(1 / std::sqrt(static_cast<double>(io.size()))),
          .mask = DropoutMask<T>(io.key, io.dropout),
          .errors = device.index_errors("attention"),
          .tiles = std::max<int64_t>(1, (rows + kQueries - 1) / kQueries)};
}

// All tiles of all heads in the grid's first dimension, which has room for 2^31 - 1.
dim3 grid_of(const ops::Attention& io, int64_t rows) {
  return dim3(blocks_of(rows, kQueries) * static_cast<unsigned>(io.batch * io.heads));
}
// Bytes of shared memory: for each warp `rows` rows, of a head's size and of a tile each.
template <class T>
size_t shared_of(const ops::Attention& io, int64_t rows) {
  const int64_t bytes = kQueries * rows * (io.size() + kKeys) * static_cast<int64_t>(sizeof(T));
  require(bytes <= 48 * 1024, "[attention] heads of ", io.size(),
          " columns are too large for the CUDA kernel; raise the number of attention heads");
  return static_cast<size_t>(bytes);
}

}  // namespace

void attention(const ops::Attention& io) {
  dispatch_float(io.q.dtype, "attention", [&]<class T>(T) {
    CudaDevice& device = CudaDevice::of(io.q);
    launch(device, "attention", attention_kernel<T>, grid_of(io, io.queries()),
           dim3(kWarp, kQueries), shared_of<T>(io, 1), heads_of<T>(io, io.queries(), device),
           Matrix<T>(io.y));
  });
}

void attention_backward(const ops::Attention& io, const ops::AttentionGradients& g) {
  dispatch_float(io.q.dtype, "attention_backward", [&]<class T>(T) {
    constexpr const char* kOp = "attention_backward";
    CudaDevice& device = CudaDevice::of(io.q);
    const int64_t pairs = io.batch * io.heads, queries = io.queries();
    T* delta = device.scratch<T>(pairs * queries);
    each(device, kOp, {pairs, queries},
         Delta<T>{Matrix<T>(io.y), Matrix<T>(g.dy), io.heads, queries, io.size(), delta});
    const Heads<T> h = heads_of<T>(io, queries, device);
    const Matrix<T> dy(g.dy);
    if (g.dq.view)
      launch(device, kOp, attention_dq_kernel<T>, grid_of(io, queries), dim3(kWarp, kQueries),
             shared_of<T>(io, 1), h, dy, delta, Matrix<T>(g.dq.view), g.dq.add);
    if (g.dk.view || g.dv.view)
      launch(device, kOp, attention_dkv_kernel<T>, grid_of(io, io.keys()), dim3(kWarp, kQueries),
             shared_of<T>(io, 2), heads_of<T>(io, io.keys(), device), dy, delta,
             g.dk.view ? Matrix<T>(g.dk.view) : Matrix<T>(), g.dk.add,
             g.dv.view ? Matrix<T>(g.dv.view) : Matrix<T>(), g.dv.add);
  });
}

}  // namespace nine::cuda
