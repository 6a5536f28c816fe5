// The score of one pair of a word and a context, from its product and both vectors' statistics, for
// the kernels of kernels/scores/cuda/head_kernels.cuh.
#pragma once

#include "kernels/expression/cuda/formula_on_device.h"
#include "kernels/scores/all.h"
#include "kernels/scores/cuda/head_kernels.cuh"

namespace nine::cuda {
namespace {

using scores::OfParts;

constexpr int kWarps = 8;  // warps of a block (32, 8): one row per lane

template <class K>
K kernel_of(const HeadScore& of) {
  if constexpr (std::is_same_v<K, scores::ExprPair>) {
    return formula_on(of.device, of.score, of.d);
  } else {
    return K(of.score, of.d);
  }
}

template <class K, class T>
struct Stats {
  T s[K::kStats > 0 ? K::kStats : 1];
};
template <class K, class T>
NINE_D Stats<K, T> word_stats_of(const double* stats) {
  Stats<K, T> x{};
  for (int i = 0; i < K::kStats; ++i) x.s[i] = static_cast<T>(stats[i]);
  return x;
}
template <class K, class T>
NINE_D Stats<K, T> row_stats_of(const T* stats, int64_t r, int64_t padded) {
  Stats<K, T> x{};
  for (int i = 0; i < K::kStats; ++i) x.s[i] = stats[i * padded + r];
  return x;
}

template <class T>
NINE_D T bias_of(const ComponentRun<T>& p, int64_t v) {
  return p.bias != nullptr ? p.bias[v] : T(0);
}

// Returns S of word v and row r, without bias and scale, for a kernel without parts. `h` are the
// row's statistics.
template <class K, class T>
NINE_D T plain_score_of(const K& k, const ComponentRun<T>& p, int64_t v, int64_t r,
                        const Stats<K, T>& h) {
  if constexpr (OfParts<K>) {
    using Part = std::remove_cvref_t<decltype(k.part)>;
    const int64_t parts = k.parts();
    RunningLogSumExp<T> all;
    T sum = 0;
    for (int64_t i = 0; i < parts; ++i) {
      const auto w = word_stats_of<Part, T>(p.word_stats + (v * parts + i) * K::kStats);
      for (int64_t j = 0; j < parts; ++j) {
        const auto part_h =
            row_stats_of<Part, T>(p.row_stats + j * K::kStats * p.padded, r, p.padded);
        const T xi =
            scores::value_at(k.part, p.z[v * p.ld + (i * parts + j) * p.padded + r], w.s, part_h.s);
        if (k.mixture) {
          all.add(xi);
        } else {
          sum += xi;
        }
      }
    }
    return k.mixture ? all.top + (vlog(all.sum) - vlog(static_cast<T>(parts * parts))) : sum;
  } else {
    return scores::value_at(k, p.z[v * p.ld + r],
                            word_stats_of<K, T>(p.word_stats + v * K::kStats).s, h.s);
  }
}
template <class K, class T>
NINE_D Stats<K, T> own_row_stats(const ComponentRun<T>& p, int64_t r) {
  if constexpr (OfParts<K>) {
    return {};
  } else {
    return row_stats_of<K, T>(p.row_stats, r, p.padded);
  }
}
template <class K, class T>
NINE_D T full_score(const K& k, const ComponentRun<T>& p, int64_t v, int64_t r,
                    const Stats<K, T>& h) {
  return p.targets[r] == p.word + v ? static_cast<T>(p.target_score[r])
                                    : p.scale * plain_score_of(k, p, v, r, h) + bias_of(p, v);
}

}  // namespace
}  // namespace nine::cuda
