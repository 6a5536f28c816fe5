// The head's computations on whole vectors, for kernels/scores/cuda/head_kernels_impl.cuh:
// statistics, and the targets' scores and slopes. One warp handles a vector or pair, and one launch
// all components of one score.
#pragma once

#include "kernels/scores/cuda/head_pair_scores.cuh"
#include "kernels/scores/cuda/warp_vectors.cuh"

namespace nine::cuda {
namespace {

template <class K, class T>
struct WordStats {
  K k;
  int64_t d;
  Vectors<T> x;
  double* out;
  NINE_D void operator()(int64_t v) const {
    const int64_t size = d / k.parts();
    double s[K::kStats > 0 ? K::kStats : 1];
    for (int64_t i = 0; i < k.parts(); ++i) {
      k.stats(in_warp(x.data + v * x.ld + i * size), size, s);
      if (lane_of_warp() == 0)
        for (int n = 0; n < K::kStats; ++n) out[(v * k.parts() + i) * K::kStats + n] = s[n];
    }
  }
};
template <class K, class T>
struct RowStats {
  K k;
  int64_t d;
  Vectors<T> x;
  Alike alike;
  int64_t padded;
  T* out;
  NINE_D void operator()(int64_t i) const {
    const int64_t component = i / x.count, r = i % x.count, size = d / k.parts(),
                  first = component * k.parts() * K::kStats;
    const T* row = x.data + (component * alike.rows + r) * x.ld;
    double s[K::kStats > 0 ? K::kStats : 1];
    for (int64_t part = 0; part < k.parts(); ++part) {
      k.stats(in_warp(row + part * size), size, s);
      if (lane_of_warp() == 0)
        for (int n = 0; n < K::kStats; ++n)
          out[(first + part * K::kStats + n) * padded + r] = static_cast<T>(s[n]);
    }
  }
};
template <class K, class T>
struct StatsBackward {
  K k;
  int64_t d;
  Vectors<T> x;
  const double* dstats;
  int64_t by_vector, by_stat;
  T* dx;
  int64_t ldx;
  NINE_D void operator()(int64_t v) const {
    const int64_t size = d / k.parts();
    double s[K::kStats > 0 ? K::kStats : 1], ds[K::kStats > 0 ? K::kStats : 1];
    for (int64_t i = 0; i < k.parts(); ++i) {
      const InWarp<T>* part = in_warp(x.data + v * x.ld + i * size);
      k.stats(part, size, s);
      for (int n = 0; n < K::kStats; ++n)
        ds[n] = dstats[v * by_vector + (i * K::kStats + n) * by_stat];
      k.stats_backward(part, size, s, ds, in_warp(dx + v * ldx + i * size));
    }
  }
};

// Returns S of whole vectors, without the scale, for vectors of a warp or of a thread.
template <class K, class T>
NINE_D double plain_exact(const K& k, const T* w, const T* h, int64_t d) {
  if constexpr (K::kExactTarget) {
    return k.exact(w, h, d, 0.0, static_cast<T*>(nullptr), static_cast<T*>(nullptr));
  } else {
    return k.value(scores::dot(w, h, d), static_cast<const double*>(nullptr),
                   static_cast<const double*>(nullptr));
  }
}

// Row r of component k, and its target.
template <class T>
struct TargetPairs {
  TargetRows<T> rows;
  int64_t d;

  NINE_D int64_t target(int64_t i) const { return rows.targets[i % rows.h.count]; }
  NINE_D bool counts(int64_t i) const { return target(i) >= 0 && target(i) < rows.w.count; }
  NINE_D const InWarp<T>* word(int64_t i, int64_t y) const {
    return in_warp(rows.w.data + i / rows.h.count * rows.alike.words + y * rows.w.ld);
  }
  NINE_D const InWarp<T>* context(int64_t i) const {
    return in_warp(rows.h.data +
                   (i / rows.h.count * rows.alike.rows + i % rows.h.count) * rows.h.ld);
  }
};

template <class K, class T>
struct Exact {
  K k;
  double scale;
  TargetPairs<T> pairs;
  const T* bias;
  double* out;
  IndexErrors errors;
  int64_t first_row;
  NINE_D void operator()(int64_t i) const {
    const TargetRows<T>& rows = pairs.rows;
    const int64_t y = checked(rows.targets, i % rows.h.count, -1, rows.w.count, errors, first_row);
    if (y < 0) return;
    const double s = scale * plain_exact(k, pairs.word(i, y), pairs.context(i), pairs.d);
    if (lane_of_warp() == 0)
      out[i] = static_cast<double>(
          static_cast<T>(s + (bias != nullptr ? static_cast<double>(bias[y]) : 0.0)));
  }
};

// True if dL/dz of a target's product can be computed without the product.
template <class K>
constexpr bool product_free() {
  if constexpr (requires { K::kConstantSlope; }) {
    return true;
  } else {
    return K::kExactTarget;
  }
}

template <class K, class T>
struct TargetSlopes {
  K k;
  double scale;
  TargetPairs<T> pairs;
  const double* up;
  T* target_dz;
  // Handles row i with one thread, if no product is needed.
  NINE_D void operator()(int64_t, int64_t i) const { target_dz[i] = of(i, 0.0); }
  NINE_D void operator()(int64_t i) const {
    const double z = pairs.counts(i)
                         ? scores::dot(pairs.word(i, pairs.target(i)), pairs.context(i), pairs.d)
                         : 0;
    if (lane_of_warp() == 0) target_dz[i] = of(i, z);
  }
  NINE_D T of(int64_t i, double z) const {
    if constexpr (K::kExactTarget) {
      return T(0);
    } else {
      const double none[] = {0, 0};
      return pairs.counts(i) ? static_cast<T>(scale * up[i] * k.slopes(z, none, none).z) : T(0);
    }
  }
};

template <class K, class T>
struct ExactSlopes {
  K k;
  double scale;
  TargetPairs<T> pairs;
  const double* up;
  T* dh;
  int64_t ldh;
  T* dw;
  NINE_D void operator()(int64_t r) const {
    const int64_t d = pairs.d;
    InWarp<T>* of_word = dw != nullptr ? in_warp(dw + r * d) : nullptr;
    if (dw != nullptr) {
      for (int64_t i = lane_of_warp(); i < d; i += kWarp) dw[r * d + i] = T(0);
      __syncwarp();  // other lanes may add to these numbers
    }
    if (pairs.counts(r))
      k.exact(pairs.word(r, pairs.target(r)), pairs.context(r), d, scale * up[r], of_word,
              dh != nullptr ? in_warp(dh + r * ldh) : nullptr);
  }
};

// --- launches

template <class K, class T>
void word_stats(const HeadScore& of, const Vectors<T>& x, double* out) {
  if constexpr (K::kStats > 0)
    each_vector(of.device, "head_stats", x.count, WordStats<K, T>{kernel_of<K>(of), of.d, x, out});
}
template <class K, class T>
void row_stats(const HeadScore& of, const Vectors<T>& x, const Alike& alike, int64_t padded,
               T* out) {
  if constexpr (K::kStats > 0)
    each_vector(of.device, "head_scores", alike.count * x.count,
                RowStats<K, T>{kernel_of<K>(of), of.d, x, alike, padded, out});
}
template <class K, class T>
void stats_backward(const HeadScore& of, const Vectors<T>& x, const double* dstats,
                    int64_t by_vector, int64_t by_stat, T* dx, int64_t ldx) {
  if constexpr (K::kStats > 0)
    each_vector(
        of.device, "head_stats_backward", x.count,
        StatsBackward<K, T>{kernel_of<K>(of), of.d, x, dstats, by_vector, by_stat, dx, ldx});
}
template <class K, class T>
void exact(const HeadScore& of, const TargetRows<T>& rows, int64_t first_row, const T* bias,
           double* out) {
  each_vector(of.device, "head_scores", rows.pairs(),
              Exact<K, T>{kernel_of<K>(of),
                          of.score.scale,
                          {rows, of.d},
                          bias,
                          out,
                          of.device.index_errors("head_scores"),
                          first_row});
}
template <class K, class T>
void target_slopes(const HeadScore& of, const TargetRows<T>& rows, const double* up, T* target_dz) {
  const TargetSlopes<K, T> all{kernel_of<K>(of), of.score.scale, {rows, of.d}, up, target_dz};
  if constexpr (product_free<K>()) {
    each(of.device, "head_gradients", {1, rows.pairs()}, all);
  } else {
    each_vector(of.device, "head_gradients", rows.pairs(), all);
  }
}
template <class K, class T>
void exact_slopes(const HeadScore& of, const TargetRows<T>& rows, const double* up, T* dh,
                  int64_t ldh, T* dw) {
  if constexpr (K::kExactTarget)
    each_vector(of.device, "head_gradients", rows.pairs(),
                ExactSlopes<K, T>{kernel_of<K>(of), of.score.scale, {rows, of.d}, up, dh, ldh, dw});
}

}  // namespace
}  // namespace nine::cuda
