#include "kernels/scores/cpu/head_loops.h"
#include "kernels/scores/cpu/word_gradients.h"

#include <algorithm>
#include <utility>

#include "core/isa.h"
#include "core/log_sum_exp.h"
#include "kernels/scores/all.h"

namespace nine::cpu {
inline namespace NINE_ISA {
namespace {

using scores::HasFastPath;
using scores::kGradientsOf;
using scores::OfParts;

// Compiles a loop as a separate function with all callees inlined. In a file with this many kernels
// GCC otherwise stops inlining before exp and log are inside all loops. The loops are then not
// vectorised and twenty times as slow.
#define NINE_OWN_LOOP [[gnu::flatten, gnu::noinline]]

// The statistics of word v and of a lane, in the form that the kernel's functions expect.
template <class K, class T>
struct Stats {
  static constexpr int kCount = std::max(1, K::kStats);
  T s[kCount];

  static Stats of_word(const double* stats) {
    Stats x{};
    for (int i = 0; i < K::kStats; ++i) x.s[i] = static_cast<T>(stats[i]);
    return x;
  }
  // The first number is at `stats`, the next numbers `stride` apart.
  static Stats strided(const T* stats, int64_t stride) {
    Stats x{};
    for (int i = 0; i < K::kStats; ++i) x.s[i] = stats[i * stride];
    return x;
  }
  static Stats of_lane(const T* stats, int64_t r) { return strided(stats + r, kLanes); }
};

template <class T>
T bias_of(const HeadTile<T>& t, int64_t v) {
  return t.bias != nullptr ? t.bias[v] : T(0);
}

// True if fast_path_valid holds for `count` vectors, or parts of vectors: statistic i of vector v
// is stats[i * apart + v * next].
template <class K, class S>
bool all_fast(const K& k, const S* stats, int64_t apart, int64_t next, int64_t count) {
  int64_t others = 0;
  for (int64_t v = 0; v < count; ++v)
    others += k.fast_path_valid(Stats<K, S>::strided(stats + v * next, apart).s) ? 0 : 1;
  return others == 0;
}
// Calls f with the kernel, or with its FastPath if that is valid for all vectors: n vectors with
// statistics `listed` [vector][part][statistic], and `count` with `lanes`
// [part][statistic][stride].
template <class K, class S, class T, class F>
void dispatch_fast_path(const K& k, const S* listed, int64_t n, const T* lanes, int64_t stride,
                        int64_t count, F&& f) {
  if constexpr (HasFastPath<K>) {
    const int64_t parts = k.parts();
    bool fast = all_fast(k, listed, 1, K::kStats, parts * n);
    for (int64_t i = 0; fast && i < parts; ++i)
      fast = all_fast(k, lanes + i * K::kStats * stride, stride, 1, count);
    if (fast) return f(scores::FastPath<K>(k));
  }
  f(k);
}
template <class K, class T, class F>
void dispatch_fast_path(const K& k, const HeadTile<T>& t, F&& f) {
  dispatch_fast_path(k, t.word_stats, t.words, t.row_stats, kLanes, kLanes, f);
}

// Computes scores of one word with a panel's rows, from the products z and the statistics of one
// part: out = start + scale S, or with kAdd out += scale S.
template <bool kAdd, class K, class T>
NINE_OWN_LOOP void word_scores(const K& k, const T* z, const double* word_stats, const T* row_stats,
                               T scale, T start, T* out) {
  const auto w = Stats<K, T>::of_word(word_stats);
#pragma GCC ivdep
  for (int64_t r = 0; r < kLanes; ++r) {
    const auto h = Stats<K, T>::of_lane(row_stats, r);
    out[r] = scale * k.value(z[r], w.s, h.s) + (kAdd ? out[r] : start);
  }
}

// Replaces z by scale * up * dS/dz, and adds scale * up * dS/d(statistics) to the sums. Where up is
// 0 the gradients are 0, for any slope (which may be infinite). With kShare S is one of several
// terms of a log sum of exponentials, and up is multiplied by the share e^(S - sum). The share is
// limited to 1: where `sum` is the target's exact score and z has lost its digits, S - sum may have
// any value.
template <bool kShare, class K, class T>
NINE_OWN_LOOP void word_slopes(const K& k, T* z, const double* word_stats, const T* row_stats,
                               T scale, const T* up, const T* sum, T* word_sums, T* row_sums) {
  const auto w = Stats<K, T>::of_word(word_stats);
#pragma GCC ivdep
  for (int64_t r = 0; r < kLanes; ++r) {
    const auto h = Stats<K, T>::of_lane(row_stats, r);
    const auto slope = k.slopes(z[r], w.s, h.s);
    T g = scale * up[r];
    if constexpr (kShare) g *= vexp(std::min(T(0), k.value(z[r], w.s, h.s) - sum[r]));
    const bool none = g == T(0);
    z[r] = none ? T(0) : g * slope.z;
    for (int i = 0; i < kGradientsOf<K>; ++i) {
      word_sums[i * kLanes + r] += none ? T(0) : g * slope.w[i];
      row_sums[i * kLanes + r] += none ? T(0) : g * slope.h[i];
    }
  }
}

// --- kernels of one part

template <class K, class T>
void scores_of(const K& k, T scale, const HeadTile<T>& t, int64_t v, T bias, T* out) {
  word_scores<false>(k, t.z + v * t.ld, t.word_stats + v * K::kStats, t.row_stats, scale, bias,
                     out);
}

template <class K, class T>
void slopes_of(const K& k, T scale, const HeadTile<T>& t, int64_t v, const T*, const T* up,
               const HeadSums<T>& sums) {
  word_slopes<false>(k, t.z + v * t.ld, t.word_stats + v * K::kStats, t.row_stats, scale, up,
                     static_cast<const T*>(nullptr), sums.word_stats + v * K::kStats * kLanes,
                     sums.row_stats);
}

// --- kernels of parts

// Calls f(z, statistics of part i of w, of part j of h, their place in all parts' statistics) for
// each pair of parts.
template <class K, class T, class F>
void for_pairs(const K& k, const HeadTile<T>& t, int64_t v, F&& f) {
  constexpr int kStats = K::kStats;
  const int64_t parts = k.parts();
  for (int64_t i = 0; i < parts; ++i)
    for (int64_t j = 0; j < parts; ++j)
      f(t.z + (i * parts + j) * t.plane + v * t.ld, t.word_stats + (v * parts + i) * kStats,
        t.row_stats + j * kStats * kLanes, i, j);
}

template <class T, class K>
T log_pairs(const K& k) {
  return vlog(static_cast<T>(k.parts() * k.parts()));
}

// Adds n terms to each lane of `all`, with n + 1 exponentials per lane.
template <class T>
NINE_OWN_LOOP void add_exponents(const T (*x)[kLanes], int n, LogSumExpLanes<T, kLanes>& all) {
  all.raise(x[0], n);
  for (int i = 0; i < n; ++i) all.add_covered(x[i]);
}

// Computes out = scale * (log(sum) + more).
template <class T>
NINE_OWN_LOOP void log_of_sum(const LogSumExpLanes<T, kLanes>& all, T scale, T more, T* out) {
  all.values(out);
  for (int64_t r = 0; r < kLanes; ++r) out[r] = scale * (out[r] + more);
}

template <OfParts K, class T>
void scores_of(const K& k, T scale, const HeadTile<T>& t, int64_t v, T bias, T* out) {
  if (!k.mixture) {
    std::fill_n(out, kLanes, bias);
    for_pairs(k, t, v, [&](const T* z, const double* w, const T* h, int64_t, int64_t) {
      word_scores<true>(k.part, z, w, h, scale, T(0), out);
    });
    return;
  }
  constexpr int kAtOnce = 4;  // pairs
  int held = 0;
  T xi[kAtOnce][kLanes];
  LogSumExpLanes<T, kLanes> all;  // NOLINT(cppcoreguidelines-pro-type-member-init): see clear()
  all.clear();
  for_pairs(k, t, v, [&](const T* z, const double* w, const T* h, int64_t, int64_t) {
    word_scores<false>(k.part, z, w, h, T(1), T(0), xi[held++]);
    if (held == kAtOnce) add_exponents(xi, std::exchange(held, 0), all);
  });
  if (held > 0) add_exponents(xi, held, all);
  log_of_sum(all, scale, bias / scale - log_pairs<T>(k), out);
}

// Computes the pairs' log sum of exponentials for form=mixture, from a word's scores with bias.
template <OfParts K, class T>
void log_sums_of(const K& k, T scale, const HeadTile<T>& t, int64_t v, const T* scores, T* all) {
  const T rest = bias_of(t, v) / scale - log_pairs<T>(k);
  for (int64_t r = 0; r < kLanes; ++r) all[r] = scores[r] / scale - rest;
}

template <OfParts K, class T>
void slopes_of(const K& k, T scale, const HeadTile<T>& t, int64_t v, const T* scores, const T* up,
               const HeadSums<T>& sums) {
  constexpr int kStats = K::kStats;
  const int64_t parts = k.parts();
  T all[kLanes];
  if (k.mixture) log_sums_of(k, scale, t, v, scores, all);
  for_pairs(k, t, v, [&](T* z, const double* w, const T* h, int64_t i, int64_t j) {
    T *of_word = sums.word_stats + (v * parts + i) * kStats * kLanes,
      *of_rows = sums.row_stats + j * kStats * kLanes;
    k.mixture ? word_slopes<true>(k.part, z, w, h, scale, up, all, of_word, of_rows)
              : word_slopes<false>(k.part, z, w, h, scale, up, all, of_word, of_rows);
  });
}

// --- loops over a tile

template <class K, class T>
void values(const KernelArgs& args, const HeadTile<T>& t, T* out) {
  const T scale = static_cast<T>(args.score.scale);
  dispatch_fast_path(K(args.score, args.dims), t, [&](const auto& k) {
    for (int64_t v = 0; v < t.words; ++v)
      scores_of(k, scale, t, v, bias_of(t, v), out + v * kLanes);
  });
}

// Returns the scores of word v: the kept scores, or scores computed into `own`.
template <class K, class T>
const T* known_scores(const K& k, T scale, const HeadTile<T>& t, int64_t v, T* own) {
  if (t.scores != nullptr) return t.scores + v * t.scores_ld;
  scores_of(k, scale, t, v, bias_of(t, v), own);
  return own;
}

template <class T>
void add_bias_gradient(const HeadSums<T>& sums, int64_t v, const T* up) {
  if (sums.bias == nullptr) return;
#pragma GCC ivdep
  for (int64_t r = 0; r < kLanes; ++r) sums.bias[v * kLanes + r] += up[r];
}

// Prefetches kept products from memory. They are 128 bytes for each word and pair of parts, too far
// apart for the hardware prefetcher. Two words ahead was the fastest distance. GCC removes calls of
// a function that only prefetches, hence always_inline.
template <class T>
[[gnu::always_inline]] inline void prefetch_products(const HeadTile<T>& t, int64_t planes,
                                                     int64_t v) {
  constexpr int64_t kAhead = 2, kLine = 64 / static_cast<int64_t>(sizeof(T));
  const int64_t next = v + kAhead;
  // The products of the next panel follow the last word.
  const T* z = next < t.words ? t.z + next * t.ld : t.z + kLanes + (next - t.words) * t.ld;
  for (int64_t pair = 0; pair < planes; ++pair)
    for (int64_t r = 0; r < kLanes; r += kLine) __builtin_prefetch(z + pair * t.plane + r, 1);
}

template <class K, class T>
void gradients(const KernelArgs& args, const HeadTile<T>& t, const HeadLanes<T>& lanes,
               typename HeadLanes<T>::Index word, const HeadSums<T>& sums) {
  const T scale = static_cast<T>(args.score.scale);
  dispatch_fast_path(K(args.score, args.dims), t, [&](const auto& k) {
    T own[kLanes], up[kLanes];
    const int64_t planes = k.parts() * k.parts();
    for (int64_t v = 0; v < t.words; ++v) {
      prefetch_products(t, planes, v);
      const T* s = known_scores(k, scale, t, v, own);
      word_gradients(s, lanes, static_cast<typename HeadLanes<T>::Index>(word + v), up);
      add_bias_gradient(sums, v, up);
      slopes_of(k, scale, t, v, s, up, sums);
    }
  });
}

template <class K, class T>
void slopes(const KernelArgs& args, const HeadTile<T>& t, const T* up, const HeadSums<T>& sums) {
  const T scale = static_cast<T>(args.score.scale);
  dispatch_fast_path(K(args.score, args.dims), t, [&](const auto& k) {
    T own[kLanes];
    const int64_t planes = k.parts() * k.parts();
    for (int64_t v = 0; v < t.words; ++v) {
      prefetch_products(t, planes, v);
      // Only the slopes of kernels of parts depend on the scores.
      const T* s = OfParts<K> ? known_scores(k, scale, t, v, own) : nullptr;
      add_bias_gradient(sums, v, up + v * kLanes);
      slopes_of(k, scale, t, v, s, up + v * kLanes, sums);
    }
  });
}

// --- learned numbers

template <class K, class T>
concept LearnsParameters = requires(const K& k, const T* s) {
  k.parameter_slope(0, T(), s, s);
};

// Calls f(index among the learned numbers, number) for each learned number, in order.
template <class F>
void for_learned(const Score& score, F&& f) {
  int place = 0;
  for (int i = 0; i < kMaxScoreNumbers; ++i)
    if (score.learns(i)) f(place++, i);
}

// Adds scale * up * dS/d(parameter i) of one word to the sums; kShare as in word_slopes.
template <bool kShare, class K, class T>
NINE_OWN_LOOP void word_parameter_slopes(const K& k, int i, const T* z, const double* word_stats,
                                         const T* row_stats, T scale, const T* up, const T* sum,
                                         T* sums) {
  const auto w = Stats<K, T>::of_word(word_stats);
#pragma GCC ivdep
  for (int64_t r = 0; r < kLanes; ++r) {
    const auto h = Stats<K, T>::of_lane(row_stats, r);
    T g = scale * up[r];
    if constexpr (kShare) g *= vexp(std::min(T(0), k.value(z[r], w.s, h.s) - sum[r]));
    sums[r] += g == T(0) ? T(0) : g * k.parameter_slope(i, z[r], w.s, h.s);
  }
}
template <class T>
NINE_OWN_LOOP void add_products(const T* up, const T* scores, T* sums) {
#pragma GCC ivdep
  for (int64_t r = 0; r < kLanes; ++r) sums[r] += up[r] == T(0) ? T(0) : up[r] * scores[r];
}

template <class K, class T>
void parameter_slopes_of(const K& k, int i, T scale, const HeadTile<T>& t, int64_t v, const T* up,
                         T* sums) {
  if constexpr (LearnsParameters<K, T>)
    word_parameter_slopes<false>(k, i, t.z + v * t.ld, t.word_stats + v * K::kStats, t.row_stats,
                                 scale, up, static_cast<const T*>(nullptr), sums);
}
template <OfParts K, class T>
void parameter_slopes_of(const K& k, int i, T scale, const HeadTile<T>& t, int64_t v, const T* up,
                         T* sums) {
  T own[kLanes], all[kLanes];
  if (k.mixture) log_sums_of(k, scale, t, v, known_scores(k, scale, t, v, own), all);
  for_pairs(k, t, v, [&](const T* z, const double* w, const T* h, int64_t, int64_t) {
    k.mixture ? word_parameter_slopes<true>(k.part, i, z, w, h, scale, up, all, sums)
              : word_parameter_slopes<false>(k.part, i, z, w, h, scale, up, all, sums);
  });
}

template <class K, class T>
void number_gradients(const KernelArgs& args, const HeadTile<T>& t, const T* up, T* sums) {
  const K k(args.score, args.dims);
  const T scale = static_cast<T>(args.score.scale);
  T own[kLanes];
  for_learned(args.score, [&](int place, int i) {
    for (int64_t v = 0; v < t.words; ++v) {
      const T* g = up + v * kLanes;
      T* to = sums + place * kLanes;
      if (i != kScaleNumber) {
        parameter_slopes_of(k, i, scale, t, v, g, to);
        continue;
      }
      scores_of(k, T(1), t, v, T(0), own);
      add_products(g, own, to);
    }
  });
}

// --- one row, words fastest

template <class K, class T>
NINE_OWN_LOOP void row_scores(const K& k, const T* z, const T* word_stats, int64_t stride,
                              const T* row_stats, int64_t words, T* out) {
  const auto h = Stats<K, T>::strided(row_stats, 1);
#pragma GCC ivdep
  for (int64_t v = 0; v < words; ++v)
    out[v] = k.value(z[v], Stats<K, T>::strided(word_stats + v, stride).s, h.s);
}

template <class K, class T>
void row_values_of(const K& k, const HeadRow<T>& r, T* out) {
  row_scores(k, r.z, r.word_stats, r.word_stride, r.row_stats, r.words, out);
}

template <OfParts K, class T>
void row_values_of(const K& k, const HeadRow<T>& r, T* out) {
  constexpr int kStats = K::kStats;
  constexpr int64_t kWords = ops::kHeadTile;
  require(r.words <= kWords, "[row_values] a tile of ", r.words, " words");
  T xi[kWords];
  LogSumExpLanes<T, kWords> all;  // NOLINT(cppcoreguidelines-pro-type-member-init): see clear()
  all.clear();
  const int64_t parts = k.parts();
  for (int64_t i = 0; i < parts; ++i)
    for (int64_t j = 0; j < parts; ++j) {
      row_scores(k.part, r.z + (i * parts + j) * r.plane, r.word_stats + i * kStats * r.word_stride,
                 r.word_stride, r.row_stats + j * kStats, r.words, xi);
      if (k.mixture) {
        all.add(xi, r.words);
      } else {
        for (int64_t v = 0; v < r.words; ++v) all.sum[v] += xi[v];
      }
    }
  const T pairs = log_pairs<T>(k);
  for (int64_t v = 0; v < r.words; ++v)
    out[v] = k.mixture ? all.top[v] + (vlog(all.sum[v]) - pairs) : all.sum[v];
}

template <class K, class T>
void row_values(const KernelArgs& args, const HeadRow<T>& r, T* out) {
  dispatch_fast_path(K(args.score, args.dims), r.row_stats, 1, r.word_stats, r.word_stride, r.words,
                     [&](const auto& k) { row_values_of(k, r, out); });
  if (args.score.scale == 1) return;
  const T scale = static_cast<T>(args.score.scale);
  for (int64_t v = 0; v < r.words; ++v) out[v] *= scale;
}

// --- vectors

template <class K, class T>
void stats(const KernelArgs& args, const T* x, double* s) {
  if constexpr (K::kStats > 0) {
    const K k(args.score, args.dims);
    const int64_t size = args.dims / k.parts();
    for (int64_t i = 0; i < k.parts(); ++i) k.stats(x + i * size, size, s + i * K::kStats);
  }
}

template <class K, class T>
void stats_backward(const KernelArgs& args, const T* x, const double* s, const double* ds, T* dx) {
  if constexpr (K::kStats > 0) {
    const K k(args.score, args.dims);
    const int64_t size = args.dims / k.parts();
    for (int64_t i = 0; i < k.parts(); ++i)
      k.stats_backward(x + i * size, size, s + i * K::kStats, ds + i * K::kStats, dx + i * size);
  }
}

constexpr const char* kNoExactScore = "[head] a scaled inner product has no exact score";

// Returns S of whole vectors, without the scale.
template <class K, class T>
double plain_exact(const K& k, const KernelArgs& args, const T* w, const T* h) {
  if constexpr (K::kExactTarget) {
    return k.exact(w, h, args.dims, 0, static_cast<T*>(nullptr), static_cast<T*>(nullptr));
  } else {
    // ScaledLin's targets are scored by their angle (kernels/options/angle.h), not here.
    static_assert(K::kStats == 0 || K::kKind == ScoreKind::scaled_lin,
                  "a kernel with statistics needs an exact score of the target");
    if constexpr (K::kStats > 0) fail(kNoExactScore);
    return k.value(scores::dot(w, h, args.dims), static_cast<const double*>(nullptr),
                   static_cast<const double*>(nullptr));
  }
}

template <class K, class T>
double exact(const KernelArgs& args, const T* w, const T* h) {
  return args.score.scale * plain_exact(K(args.score, args.dims), args, w, h);
}

template <class K, class T>
double exact_slope(const KernelArgs& args, const T* w, const T* h, double up, T* dw, T* dh) {
  const K k(args.score, args.dims);
  if constexpr (K::kExactTarget) {
    return k.exact(w, h, args.dims, args.score.scale * up, dw, dh);
  } else {
    if constexpr (K::kStats > 0) fail(kNoExactScore);
    const double* const none = nullptr;
    return args.score.scale * k.slopes(scores::dot(w, h, args.dims), none, none).z;
  }
}

// Returns the derivative with respect to the kernel's parameter i; 0 if the kernel has no learned
// parameter.
template <class K, class T>
double exact_parameter_slope(const K& k, int i, const KernelArgs& args, const T* w, const T* h) {
  if constexpr (requires { k.exact_parameter_slope(i, w, h, args.dims); })
    return k.exact_parameter_slope(i, w, h, args.dims);
  if constexpr (LearnsParameters<K, double>) {
    const double* const none = nullptr;
    return k.parameter_slope(i, scores::dot(w, h, args.dims), none, none);
  }
  return 0;
}

template <class K, class T>
void exact_number_slopes(const KernelArgs& args, const T* w, const T* h, double* out) {
  const K k(args.score, args.dims);
  for_learned(args.score, [&](int place, int i) {
    out[place] = i == kScaleNumber ? plain_exact(k, args, w, h)
                                   : args.score.scale * exact_parameter_slope(k, i, args, w, h);
  });
}

template <class K, class T>
bool needs_exact(T z, const double* w, const T* h) {
  T of_w[K::kStats], of_h[K::kStats];
  for (int i = 0; i < K::kStats; ++i) of_w[i] = static_cast<T>(w[i]), of_h[i] = h[i * kLanes];
  return K::needs_exact(z, of_w, of_h);
}

template <class K, class T>
constexpr auto needs_exact_of() -> bool (*)(T, const double*, const T*) {
  if constexpr (requires(const T* s) { K::needs_exact(T(), s, s); }) {
    return needs_exact<K, T>;
  } else {
    return nullptr;
  }
}

template <class K, class T>
bool any_extreme(const KernelArgs& args, const double* stats, int64_t vectors) {
  const int64_t parts = vectors * K(args.score, args.dims).parts();
  int64_t count = 0;
  for (int64_t i = 0; i < parts; ++i) count += K::template is_extreme<T>(stats + i * K::kStats);
  return count > 0;
}

template <class K, class T>
constexpr auto any_extreme_of() -> bool (*)(const KernelArgs&, const double*, int64_t) {
  if constexpr (scores::KnowsExtremes<K>) {
    static_assert(K::kExactTarget, "pairs of extreme vectors are computed by exact()");
    return any_extreme<K, T>;
  } else {
    return nullptr;
  }
}

template <class K, class T>
constexpr HeadLoops<T> kLoops{.values = values<K, T>,
                              .row_values = row_values<K, T>,
                              .gradients = gradients<K, T>,
                              .slopes = slopes<K, T>,
                              .number_gradients = number_gradients<K, T>,
                              .exact_number_slopes = exact_number_slopes<K, T>,
                              .needs_exact = needs_exact_of<K, T>(),
                              .any_extreme = any_extreme_of<K, T>(),
                              .stats = stats<K, T>,
                              .stats_backward = stats_backward<K, T>,
                              .exact = exact<K, T>,
                              .exact_slope = exact_slope<K, T>,
                              .finite_slopes = nullptr};

template <class T>
const HeadLoops<T>* loops_of(ScoreKind kind) {
  const HeadLoops<T>* loops =
      kind == ScoreKind::scaled_lin ? &kLoops<scores::ScaledLin, T> : nullptr;
  scores::for_each_kernel([&]<class K>() {
    if (K::kKind == kind) loops = &kLoops<K, T>;
  });
  return loops;
}

#undef NINE_OWN_LOOP

}  // namespace

void install(HeadLoopTables& tables) { tables = {loops_of<float>, loops_of<double>}; }

}  // namespace NINE_ISA
}  // namespace nine::cpu
