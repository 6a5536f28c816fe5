// The score of one pair of a word and a context, from its product and both vectors' statistics, for
// the kernels of kernels/scores/cuda/head_kernels.cuh.
#pragma once

#include "cuda/exponential.cuh"
#include "kernels/expression/cuda/formula_on_device.h"
#include "kernels/scores/all.h"
#include "kernels/scores/cuda/head_kernels.cuh"

namespace nine::cuda {
namespace {

using scores::OfParts;

constexpr int kWarps = 8;  // warps of a block (32, 8): one row per lane

template <class K>
inline constexpr bool kIsProgram = std::is_same_v<K, scores::ExprPair>;

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

// Lets no load of x move behind this place: the compiler would move loads into the branches behind
// them, one after another. All loads of x are then on their way at once.
template <class T, int n>
NINE_D void load_now([[maybe_unused]] T (&x)[n]) {
#ifdef __CUDACC__
#pragma unroll
  for (int i = 0; i < n; ++i) {
    if constexpr (sizeof(T) == sizeof(float)) {
      asm volatile("" : "+f"(x[i]));
    } else {
      asm volatile("" : "+d"(x[i]));
    }
  }
#endif
}

// x = from[0 ... n), in loads of 16 bytes where n is a multiple of their numbers; `from` then is a
// multiple of 16.
template <class T, int n>
NINE_D void load_packed(const T* from, T (&x)[n]) {
  constexpr int kPack = 16 / sizeof(T);
  struct alignas(16) Packed {
    T x[kPack];
  };
  if constexpr (n % kPack == 0) {
#pragma unroll
    for (int i = 0; i < n; i += kPack) {
      const Packed some = *reinterpret_cast<const Packed*>(from + i);
#pragma unroll
      for (int j = 0; j < kPack; ++j) x[i + j] = some.x[j];
    }
  } else {
    for (int i = 0; i < n; ++i) x[i] = from[i];
  }
}

// The statistics and biases of kWords consecutive words in shared memory, as T: [statistic, then
// bias][word]. So a thread reads those of neighbouring words together, and no loop over rows
// converts doubles.
template <int kStats, class T, int kWords>
struct WordNumbers {
  static constexpr size_t kBytes = (kStats + 1) * kWords * sizeof(T);
  T* data;
  NINE_D T* end() const { return data + (kStats + 1) * kWords; }

  // Fills in the words of the run from `first` on; beyond the run's end its last word again. All
  // threads of a block call it, and see the numbers after a barrier. A word has stats_ld
  // statistics.
  NINE_D void fill(const ComponentRun<T>& p, int64_t first, int64_t stats_ld) const {
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.y * kWarp + threadIdx.x); i < kWords;
         i += kWarp * kWarps) {
      const int64_t v = first + i < p.words ? first + i : p.words - 1;
      for (int s = 0; s < kStats; ++s)
        data[s * kWords + i] = static_cast<T>(p.word_stats[v * stats_ld + s]);
      data[kStats * kWords + i] = bias_of(p, v);
    }
  }
  // The biases and statistics of n words from `at` on, a multiple of n.
  template <int n>
  NINE_D void bias(int at, T (&x)[n]) const {
    load_packed(data + kStats * kWords + at, x);
  }
  template <class K, int n>
  NINE_D void stats(int at, Stats<K, T> (&w)[n]) const {
#pragma unroll
    for (int s = 0; s < kStats; ++s) {
      T x[n];
      load_packed(data + s * kWords + at, x);
#pragma unroll
      for (int j = 0; j < n; ++j) w[j].s[s] = x[j];
    }
  }
};

// The kernels over products address those of eight words by 32-bit offsets.
template <class T>
void check_offsets(const ComponentRun<T>& p) {
  require(8 * p.ld < int64_t{1} << 32 && p.padded < int64_t{1} << 31, "[kernel_softmax] ", p.ld,
          " products of a word and ", p.padded, " rows are more than a GPU's kernel can address");
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
        const T xi = scores::value_at<ApproximateMath>(
            k.part, p.z[v * p.ld + (i * parts + j) * p.padded + r], w.s, part_h.s);
        if (k.mixture) {
          all.add(xi);
        } else {
          sum += xi;
        }
      }
    }
    return k.mixture ? all.top + (vlog(all.sum) - vlog(static_cast<T>(parts * parts))) : sum;
  } else {
    return scores::value_at<ApproximateMath>(
        k, p.z[v * p.ld + r], word_stats_of<K, T>(p.word_stats + v * K::kStats).s, h.s);
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
