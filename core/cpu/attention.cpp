// Multi-head attention on the CPU (part of core/cpu/cpu.h). A task computes one head of one batch
// element, a tile of queries at a time. It computes the tile's scores against all keys, in forward
// and again in backward, so that no memory of size queries x keys is kept.
//
// Scores are stored as S[key][query]. Maximum and sum over keys then use one SIMD lane for each
// query, and only three tiles have to be transposed for the products, in cache: the queries, the
// gradients of the output, and the scores.
#include <cmath>
#include <limits>
#include <utility>

#include "core/cpu/cpu.h"
#include "core/cpu/dropout_mask.h"
#include "core/elementwise_loops.h"
#include "core/gemm.h"
#include "core/row_loops.h"
#include "core/scratch.h"
#include "core/vmath.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

constexpr int64_t kQueries = 64;  // queries of a tile

void check_lengths(const ops::Attention& io) {
  if (!io.lengths) return;
  const int32_t* length = static_cast<int32_t*>(io.lengths.data);
  for (int64_t b = 0; b < io.batch; ++b)
    require(length[b] >= 0 && length[b] <= io.keys(), "[attention] length ", length[b],
            " at position ", b, " is outside of [0, ", io.keys(), "]");
}

// The number of heads of queries that share a head of keys and values.
int64_t group_of(const ops::Attention& io) { return io.heads / io.kv_heads(); }

// One head of one batch element: its sizes and the first elements of its matrices.
template <class T>
struct Head {
  int64_t queries, keys, size;
  int64_t visible;  // keys that are not padding
  bool causal;
  int64_t pair;  // the place of batch element and head among all pairs of them
  double dropout;
  RandomKey key;
  const T *q, *k, *v;
  int64_t ldq, ldk, ldv;
  T scale;

  Head(const ops::Attention& io, int64_t b, int64_t h)
      : queries(io.queries()),
        keys(io.keys()),
        size(io.size()),
        visible(io.lengths ? static_cast<int32_t*>(io.lengths.data)[b] : io.keys()),
        causal(io.causal),
        pair(b * io.heads + h),
        dropout(io.dropout),
        key(io.key),
        q(row_ptr<T>(io.q, b * queries) + h * size),
        k(row_ptr<T>(io.k, b * keys) + h / group_of(io) * size),
        v(row_ptr<T>(io.v, b * keys) + h / group_of(io) * size),
        ldq(io.q.ld),
        ldk(io.k.ld),
        ldv(io.v.ld),
        scale(static_cast<T>(1 / std::sqrt(static_cast<double>(size)))) {}

  // Returns how many of the first keys the queries [t0, t0 + rows) attend to together.
  int64_t keys_of_tile(int64_t t0, int64_t rows) const {
    return causal ? std::min(visible, t0 + rows) : visible;
  }
  // Returns the first query of the tile at t0 that attends to key s, counted from t0.
  int64_t first_query(int64_t s, int64_t t0) const {
    return causal ? std::max<int64_t>(0, s - t0) : 0;
  }
  // Calls f(r, m) for the tile's queries t0 + r that attend to key s, with dropout's factor m.
  template <class F>
  void for_kept(int64_t s, int64_t t0, int64_t rows, F&& f) const {
    const int64_t first = first_query(s, t0);
    with_mask<T>(key, dropout, (pair * keys + s) * queries + t0 + first, rows - first,
                 [&](int64_t done, int64_t n, const T* m) {
                   for (int64_t i = 0; i < n; ++i) f(first + done + i, m[i]);
                 });
  }
};

// The working memory of a thread.
template <class T>
struct Tiles {
  T *scores, *grads;   // (keys, kQueries): scores or probabilities, and their gradients
  T* transposed;       // (kQueries, keys): the transpose of `scores` or `grads`
  T* transposed_rows;  // (size, kQueries): the transpose of queries or of gradients of the output
  T *top, *sum;        // (kQueries): maximum and sum over keys

  Tiles(int64_t keys, int64_t size) {
    T* p = scratch<T>(Scratch::tile, kQueries * (3 * keys + size + 2));
    const auto take = [&](int64_t n) { return std::exchange(p, p + n * kQueries); };
    scores = take(keys);
    grads = take(keys);
    transposed = take(keys);
    transposed_rows = take(size);
    top = take(1);
    sum = take(1);
  }
};

// Computes scores[s][r] = scale * q_(t0 + r) . k_s for the first n keys.
template <class T>
void score_tile(const Head<T>& head, int64_t t0, int64_t rows, int64_t n, const Tiles<T>& tiles) {
  transpose_tile(head.q + t0 * head.ldq, head.ldq, rows, head.size, tiles.transposed_rows, kQueries,
                 head.scale);
  TileProduct<T>(rows, n, head.size, kQueries, head.ldk, kQueries, false)(tiles.transposed_rows,
                                                                          head.k, tiles.scores);
}

template <class T>
void forward_tile(const Head<T>& head, int64_t t0, const Tiles<T>& tiles, T* __restrict y,
                  int64_t ldy, T* __restrict lse) {
  const int64_t rows = std::min(kQueries, head.queries - t0), n = head.keys_of_tile(t0, rows);
  if (n == 0) {  // all keys are padding
    for (int64_t r = 0; r < rows; ++r) std::fill_n(y + r * ldy, head.size, T(0));
    std::fill_n(lse, rows, std::numeric_limits<T>::infinity());
    return;
  }
  score_tile(head, t0, rows, n, tiles);
  T* __restrict top = tiles.top, * __restrict sum = tiles.sum;
  std::fill_n(top, rows, -std::numeric_limits<T>::infinity());
  std::fill_n(sum, rows, T(0));
  for (int64_t s = 0; s < n; ++s) {
    const T* __restrict score = tiles.scores + s * kQueries;
    for (int64_t r = head.first_query(s, t0); r < rows; ++r)
      top[r] = score[r] > top[r] ? score[r] : top[r];
  }
  for (int64_t s = 0; s < n; ++s) {
    T* __restrict score = tiles.scores + s * kQueries;
    const int64_t first = head.first_query(s, t0);
    std::fill_n(score, first, T(0));
    for (int64_t r = first; r < rows; ++r) {
      score[r] = vexp(score[r] - top[r]);
      sum[r] += score[r];
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    lse[r] = top[r] + vlog(sum[r]);
    sum[r] = T(1) / sum[r];
  }
  for (int64_t s = 0; s < n; ++s) {
    T* __restrict prob = tiles.scores + s * kQueries;
    for (int64_t r = 0; r < rows; ++r) prob[r] *= sum[r];
    if (head.dropout > 0) head.for_kept(s, t0, rows, [&](int64_t r, T m) { prob[r] *= m; });
  }
  transpose_tile(tiles.scores, kQueries, n, rows, tiles.transposed, n);
  TileProduct<T>(head.size, rows, n, head.ldv, n, ldy, false)(head.v, tiles.transposed, y);
}

// The gradients of one head's matrices; null where a gradient is not needed.
template <class T>
struct HeadGradients {
  T *dq, *dk, *dv;
  int64_t lddq, lddk, lddv;
  bool add_dq;
};

// Computes the gradients. With p = exp(score - lse), dropout's factors m, dp = m dy v' and delta =
// sum over keys of p dp:
//   dv = (m p)' dy,  dscore = p (dp - delta),  dq = scale dscore k,  dk = scale dscore' q.
template <class T>
void backward_tile(const Head<T>& head, int64_t t0, const Tiles<T>& tiles, const T* dy,
                   int64_t lddy, const T* __restrict lse, const HeadGradients<T>& g) {
  const int64_t rows = std::min(kQueries, head.queries - t0), n = head.keys_of_tile(t0, rows);
  if (n == 0) {
    for (int64_t r = 0; r < rows && g.dq != nullptr && !g.add_dq; ++r)
      std::fill_n(g.dq + (t0 + r) * g.lddq, head.size, T(0));
    return;
  }
  score_tile(head, t0, rows, n, tiles);
  const T* grad_y = dy + t0 * lddy;
  transpose_tile(grad_y, lddy, rows, head.size, tiles.transposed_rows, kQueries);
  TileProduct<T>(rows, n, head.size, kQueries, head.ldv, kQueries, false)(tiles.transposed_rows,
                                                                          head.v, tiles.grads);
  T* __restrict delta = tiles.sum;
  std::fill_n(delta, rows, T(0));
  // Holds m p. With dropout, it uses memory that is free until the products with dscore.
  T* weights = head.dropout > 0 ? tiles.transposed : tiles.scores;
  for (int64_t s = 0; s < n; ++s) {
    T* __restrict prob = tiles.scores + s * kQueries;
    T* __restrict grad = tiles.grads + s * kQueries;
    const int64_t first = head.first_query(s, t0);
    std::fill_n(prob, first, T(0));
    for (int64_t r = first; r < rows; ++r) prob[r] = vexp(prob[r] - lse[r]);
    if (head.dropout > 0) {
      T* __restrict weight = weights + s * kQueries;
      std::fill_n(weight, first, T(0));
      head.for_kept(s, t0, rows, [&](int64_t r, T m) {
        grad[r] *= m;
        weight[r] = m * prob[r];
      });
    }
    for (int64_t r = first; r < rows; ++r) delta[r] += prob[r] * grad[r];
  }
  for (int64_t s = 0; s < n; ++s) {
    const T* __restrict prob = tiles.scores + s * kQueries;
    T* __restrict grad = tiles.grads + s * kQueries;
    for (int64_t r = 0; r < rows; ++r) grad[r] = head.scale * prob[r] * (grad[r] - delta[r]);
  }
  if (g.dv != nullptr)
    TileProduct<T>(head.size, n, rows, lddy, kQueries, g.lddv, true)(grad_y, weights, g.dv);
  if (g.dk != nullptr)
    TileProduct<T>(head.size, n, rows, head.ldq, kQueries, g.lddk, true)(head.q + t0 * head.ldq,
                                                                         tiles.grads, g.dk);
  if (g.dq == nullptr) return;
  transpose_tile(tiles.grads, kQueries, n, rows, tiles.transposed, n);
  TileProduct<T>(head.size, rows, n, head.ldk, n, g.lddq, g.add_dq)(head.k, tiles.transposed,
                                                                    g.dq + t0 * g.lddq);
}

// Calls f(batch element, head) for all pairs of a batch element and one of `heads`.
template <class F>
void for_heads(const ops::Attention& io, int64_t heads, double operations, F&& f) {
  parallel_for(
      io.batch * heads, [&](int64_t i) { f(i / heads, i % heads); }, operations);
}

template <class T>
T* head_of(const View& v, int64_t row, int64_t column) {
  return v ? row_ptr<T>(v, row) + column : nullptr;
}

}  // namespace

void attention(const ops::Attention& io) {
  check_lengths(io);
  dispatch_float(io.q.dtype, "attention", [&]<class T>(T) {
    for_heads(io, io.heads, io.flops(), [&](int64_t b, int64_t h) {
      const Head<T> head(io, b, h);
      const Tiles<T> tiles(head.keys, head.size);
      for (int64_t t0 = 0; t0 < head.queries; t0 += kQueries)
        forward_tile(head, t0, tiles, row_ptr<T>(io.y, b * head.queries + t0) + h * head.size,
                     io.y.ld, row_ptr<T>(io.lse, b * io.heads + h) + t0);
    });
  });
}

void attention_backward(const ops::Attention& io, const ops::AttentionGradients& g) {
  check_lengths(io);
  dispatch_float(io.q.dtype, "attention_backward", [&]<class T>(T) {
    // The heads of queries that share a head of keys are one task: all add to its gradients.
    const int64_t group = group_of(io), size = io.size(), keys = io.keys();
    for_heads(io, io.kv_heads(), 2.5 * io.flops(), [&](int64_t b, int64_t kv) {
      // All tiles of queries, too, add to the gradients of the same keys and values.
      for (const OutputView* out : {&g.dk, &g.dv})
        for (int64_t s = 0; s < keys && out->view && !out->add; ++s)
          std::fill_n(row_ptr<T>(out->view, b * keys + s) + kv * size, size, T(0));
      const Tiles<T> tiles(keys, size);
      for (int64_t h = kv * group; h < (kv + 1) * group; ++h) {
        const Head<T> head(io, b, h);
        const int64_t column = h * size, row = b * head.queries;
        const HeadGradients<T> grads{head_of<T>(g.dq.view, row, column),
                                     head_of<T>(g.dk.view, b * keys, kv * size),
                                     head_of<T>(g.dv.view, b * keys, kv * size),
                                     g.dq.view.ld,
                                     g.dk.view.ld,
                                     g.dv.view.ld,
                                     g.dq.add};
        for (int64_t t0 = 0; t0 < head.queries; t0 += kQueries)
          backward_tile(head, t0, tiles, head_of<T>(g.dy, row, column), g.dy.ld,
                        row_ptr<T>(io.lse, b * io.heads + h) + t0, grads);
      }
    });
  });
}

void listed_attention(const ops::ListedAttention& io) {
  const char* op = "listed_attention";
  check_indices(op, io.rows, 0, io.keys_values.rows());
  const auto ids = [](const View& v) { return static_cast<const int32_t*>(v.data); };
  const int32_t *rows = ids(io.rows), *first = ids(io.first), *counts = ids(io.counts);
  const int64_t queries = io.q.rows(), listed = io.rows.elements();
  double all = 0;
  for (int64_t r = 0; r < queries; ++r) {
    require(first[r] >= 0 && counts[r] >= 1 && int64_t{first[r]} + counts[r] <= listed, "[", op,
            "] query ", r, " has the list [", first[r], ", ", first[r], " + ", counts[r], ") of ",
            listed, " rows");
    require(!io.weights || counts[r] <= io.weights.cols(), "[", op, "] query ", r, " attends to ",
            counts[r], " keys, but has a place for ", io.weights.cols(), " weights");
    all += counts[r];
  }
  // Few queries have tasks of some heads each, so that all threads have work.
  constexpr int64_t kFew = 4;
  int64_t parts = queries < kFew && !io.weights ? kFew : 1;
  while (io.kv_heads() % parts != 0) --parts;
  const int64_t heads = io.heads / parts, kv_heads = io.kv_heads() / parts, size = io.size();
  dispatch_float(io.q.dtype, op, [&]<class T>(T) {
    parallel_for(
        queries * parts,
        [&](int64_t task) {
          const int64_t r = task / parts, part = task % parts;
          const T** keys = scratch<const T*>(Scratch::lanes, counts[r]);
          for (int64_t i = 0; i < counts[r]; ++i)
            keys[i] = row_ptr<T>(io.keys_values, rows[first[r] + i]) + part * kv_heads * size;
          row_loops<T>().attend({.q = row_ptr<T>(io.q, r) + part * heads * size,
                                 .keys = keys,
                                 .to_value = io.kv_heads() * size,
                                 .heads = heads,
                                 .kv_heads = kv_heads,
                                 .size = size,
                                 .n = counts[r],
                                 .y = row_ptr<T>(io.y, r) + part * heads * size,
                                 .mean_weights = io.weights ? row_ptr<T>(io.weights, r) : nullptr});
        },
        4 * all * static_cast<double>(io.q.cols()));
  });
}

}  // namespace NINE_ISA
}  // namespace nine::cpu
