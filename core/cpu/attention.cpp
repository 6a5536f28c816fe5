// Multi-head attention on the CPU. A task owns one head of one batch element; it walks the queries
// in tiles and computes a tile's scores against all keys, forward and again in backward, so that
// nothing of size queries x keys outlives a tile.
//
// Scores lie rows fastest, S[key][query]: maximum and sum run vertically with one query a lane,
// keys, values, queries and gradients enter their products as they lie, and only a tile of queries,
// one of upstream gradients and one of scores are transposed, in cache.
#include <cmath>
#include <limits>
#include <utility>

#include "core/cpu/cpu.h"
#include "core/cpu/elementwise_loops.h"
#include "core/gemm.h"
#include "core/scratch.h"
#include "core/vmath.h"

namespace nine::cpu {
namespace {

constexpr int64_t kQueries = 64;  // of a tile: lanes of a row of scores

void check_lengths(const ops::Attention& io) {
  if (!io.lengths) return;
  const int32_t* length = static_cast<int32_t*>(io.lengths.data);
  for (int64_t b = 0; b < io.batch; ++b)
    require(length[b] >= 0 && length[b] <= io.keys(), "[attention] length ", length[b],
            " at position ", b, " is outside of [0, ", io.keys(), "]");
}

// One head of one batch element: where its matrices begin.
template <class T>
struct Head {
  int64_t queries, keys, size;
  int64_t visible;  // keys that are no padding
  bool causal;
  const T *q, *k, *v;
  int64_t ldq, ldk, ldv;
  T scale;

  Head(const ops::Attention& io, int64_t b, int64_t h)
      : queries(io.queries()),
        keys(io.keys()),
        size(io.size()),
        visible(io.lengths ? static_cast<int32_t*>(io.lengths.data)[b] : io.keys()),
        causal(io.causal),
        q(row_ptr<T>(io.q, b * queries) + h * size),
        k(row_ptr<T>(io.k, b * keys) + h * size),
        v(row_ptr<T>(io.v, b * keys) + h * size),
        ldq(io.q.ld),
        ldk(io.k.ld),
        ldv(io.v.ld),
        scale(static_cast<T>(1 / std::sqrt(static_cast<double>(size)))) {}

  // Keys that any of the queries t0 ... t0 + rows - 1 sees.
  int64_t seen(int64_t t0, int64_t rows) const {
    return causal ? std::min(visible, t0 + rows) : visible;
  }
  // The first of the queries from t0 on that sees key s.
  int64_t first_query(int64_t s, int64_t t0) const {
    return causal ? std::max<int64_t>(0, s - t0) : 0;
  }
};

// A thread's working memory, cut up.
template <class T>
struct Tiles {
  T *scores, *grads, *turned, *wide;  // (keys, kQueries) twice, (kQueries, keys), (size, kQueries)
  T *top, *sum;                       // kQueries each

  Tiles(int64_t keys, int64_t size) {
    T* p = scratch<T>(Scratch::tile, kQueries * (3 * keys + size + 2));
    const auto take = [&](int64_t n) { return std::exchange(p, p + n * kQueries); };
    scores = take(keys);
    grads = take(keys);
    turned = take(keys);
    wide = take(size);
    top = take(1);
    sum = take(1);
  }
};

// scores[s][r] = scale * q_(t0 + r) . k_s for the first n keys.
template <class T>
void score_tile(const Head<T>& head, int64_t t0, int64_t rows, int64_t n, const Tiles<T>& tiles) {
  transpose_tile(head.q + t0 * head.ldq, head.ldq, rows, head.size, tiles.wide, kQueries,
                 head.scale);
  TileProduct<T>(rows, n, head.size, kQueries, head.ldk, kQueries, false)(tiles.wide, head.k,
                                                                          tiles.scores);
}

template <class T>
void forward_tile(const Head<T>& head, int64_t t0, const Tiles<T>& tiles, T* __restrict y,
                  int64_t ldy, T* __restrict lse) {
  const int64_t rows = std::min(kQueries, head.queries - t0), n = head.seen(t0, rows);
  if (n == 0) {  // nothing but padding: no key has a share
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
    T* __restrict share = tiles.scores + s * kQueries;
    for (int64_t r = 0; r < rows; ++r) share[r] *= sum[r];
  }
  transpose_tile(tiles.scores, kQueries, n, rows, tiles.turned, n);
  TileProduct<T>(head.size, rows, n, head.ldv, n, ldy, false)(head.v, tiles.turned, y);
}

// One head's part of the gradients; a pointer without memory is skipped.
template <class T>
struct HeadGradients {
  T *dq, *dk, *dv;
  int64_t lddq, lddk, lddv;
  bool add_dq;
};

// With p = exp(score - lse), dp = dy v' and delta = sum over keys of p dp:
//   dv = p' dy,  dscore = p (dp - delta),  dq = scale dscore k,  dk = scale dscore' q.
template <class T>
void backward_tile(const Head<T>& head, int64_t t0, const Tiles<T>& tiles, const T* dy,
                   int64_t lddy, const T* __restrict lse, const HeadGradients<T>& g) {
  const int64_t rows = std::min(kQueries, head.queries - t0), n = head.seen(t0, rows);
  if (n == 0) {
    for (int64_t r = 0; r < rows && g.dq != nullptr && !g.add_dq; ++r)
      std::fill_n(g.dq + (t0 + r) * g.lddq, head.size, T(0));
    return;
  }
  score_tile(head, t0, rows, n, tiles);
  const T* up = dy + t0 * lddy;
  transpose_tile(up, lddy, rows, head.size, tiles.wide, kQueries);
  TileProduct<T>(rows, n, head.size, kQueries, head.ldv, kQueries, false)(tiles.wide, head.v,
                                                                          tiles.grads);
  T* __restrict delta = tiles.sum;
  std::fill_n(delta, rows, T(0));
  for (int64_t s = 0; s < n; ++s) {
    T* __restrict share = tiles.scores + s * kQueries;
    const T* __restrict grad = tiles.grads + s * kQueries;
    const int64_t first = head.first_query(s, t0);
    std::fill_n(share, first, T(0));
    for (int64_t r = first; r < rows; ++r) {
      share[r] = vexp(share[r] - lse[r]);
      delta[r] += share[r] * grad[r];
    }
  }
  for (int64_t s = 0; s < n; ++s) {
    const T* __restrict share = tiles.scores + s * kQueries;
    T* __restrict grad = tiles.grads + s * kQueries;
    for (int64_t r = 0; r < rows; ++r) grad[r] = head.scale * share[r] * (grad[r] - delta[r]);
  }
  if (g.dv != nullptr)
    TileProduct<T>(head.size, n, rows, lddy, kQueries, g.lddv, true)(up, tiles.scores, g.dv);
  if (g.dk != nullptr)
    TileProduct<T>(head.size, n, rows, head.ldq, kQueries, g.lddk, true)(head.q + t0 * head.ldq,
                                                                         tiles.grads, g.dk);
  if (g.dq == nullptr) return;
  transpose_tile(tiles.grads, kQueries, n, rows, tiles.turned, n);
  TileProduct<T>(head.size, rows, n, head.ldk, n, g.lddq, g.add_dq)(head.k, tiles.turned,
                                                                    g.dq + t0 * g.lddq);
}

// Runs f(batch element, head) for all of them.
template <class F>
void for_heads(const ops::Attention& io, double operations, F&& f) {
  parallel_for(
      io.batch * io.heads, [&](int64_t i) { f(i / io.heads, i % io.heads); }, operations);
}

template <class T>
T* head_of(const View& v, int64_t row, int64_t column) {
  return v ? row_ptr<T>(v, row) + column : nullptr;
}

}  // namespace

void attention(const ops::Attention& io) {
  check_lengths(io);
  dispatch_float(io.q.dtype, "attention", [&]<class T>(T) {
    for_heads(io, io.flops(), [&](int64_t b, int64_t h) {
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
    for_heads(io, 2.5 * io.flops(), [&](int64_t b, int64_t h) {
      const Head<T> head(io, b, h);
      const Tiles<T> tiles(head.keys, head.size);
      const int64_t column = h * head.size, row = b * head.queries;
      const HeadGradients<T> own{head_of<T>(g.dq.view, row, column),
                                 head_of<T>(g.dk.view, b * head.keys, column),
                                 head_of<T>(g.dv.view, b * head.keys, column),
                                 g.dq.view.ld,
                                 g.dk.view.ld,
                                 g.dv.view.ld,
                                 g.dq.add};
      // Every tile of queries adds to the same keys and values.
      for (const OutputView* sink : {&g.dk, &g.dv})
        for (int64_t s = 0; s < head.keys && sink->view && !sink->add; ++s)
          std::fill_n(row_ptr<T>(sink->view, b * head.keys + s) + column, head.size, T(0));
      for (int64_t t0 = 0; t0 < head.queries; t0 += kQueries)
        backward_tile(head, t0, tiles, head_of<T>(g.dy, row, column), g.dy.ld,
                      row_ptr<T>(io.lse, b * io.heads + h) + t0, own);
    });
  });
}

}  // namespace nine::cpu
