// The CUDA kernels that kernels/cuda/head_kernels.cuh declares, over every score struct. One .cu
// file for each float type includes this, so that the two compile in parallel.
#pragma once

#include "cuda/reduce.cuh"
#include "kernels/cuda/formula_on_device.h"
#include "kernels/cuda/head_kernels.cuh"
#include "kernels/scores/all.h"

namespace nine::cuda {
namespace {

using scores::OfParts;

constexpr int kWarps = 8;                        // of a block (32, 8): a lane a row
constexpr int kWarpWords = kTileWords / kWarps;  // words of one warp in slopes_kernel

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

// S of word v and row r, without bias and scale. `h` are the row's statistics (of a kernel without
// parts).
template <class K, class T>
NINE_D T plain_score_of(const K& k, const ComponentRun<T>& p, int64_t v, int64_t r,
                        const Stats<K, T>& h) {
  if constexpr (OfParts<K>) {
    using Part = std::remove_cvref_t<decltype(k.part)>;
    const int64_t parts = k.parts();
    T top = std::numeric_limits<T>::lowest(), sum = 0;
    for (int64_t i = 0; i < parts; ++i) {
      const auto w = word_stats_of<Part, T>(p.word_stats + (v * parts + i) * K::kStats);
      for (int64_t j = 0; j < parts; ++j) {
        const auto part_h =
            row_stats_of<Part, T>(p.row_stats + j * K::kStats * p.padded, r, p.padded);
        const T xi =
            scores::value_at(k.part, p.z[v * p.ld + (i * parts + j) * p.padded + r], w.s, part_h.s);
        if (!k.mixture) {
          sum += xi;
          continue;
        }
        const T high = xi > top ? xi : top;
        sum = sum * vexp(top - high) + vexp(xi - high);
        top = high;
      }
    }
    return k.mixture ? top + (vlog(sum) - vlog(static_cast<T>(parts * parts))) : sum;
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

template <class K, class T>
struct Values {
  K k;
  ComponentRun<T> p;
  T* out;
  NINE_D void operator()(int64_t v, int64_t r) const {
    out[v * p.padded + r] = full_score(k, p, v, r, own_row_stats<K, T>(p, r));
  }
};

// Block (32, kWarps): a panel of rows against kSplitWords words.
template <class K, class T>
__global__ void running_kernel(K k, ComponentRun<T> p, RunningSum<T>* out) {
  RunningSum<T>* shared = shared_memory<RunningSum<T>>();  // [kWarps][32]
  const int64_t r = static_cast<int64_t>(blockIdx.x) * kWarp + threadIdx.x,
                first = static_cast<int64_t>(blockIdx.y) * kSplitWords;
  const int64_t end = first + kSplitWords < p.words ? first + kSplitWords : p.words;
  T top = std::numeric_limits<T>::lowest(), sum = 0, scores = 0;  // not -infinity: scores may be
  if (r < p.rows) {
    const Stats<K, T> h = own_row_stats<K, T>(p, r);
    for (int64_t v = first + threadIdx.y; v < end; v += kWarps) {
      const T s = full_score(k, p, v, r, h);
      scores += s;
      if (s > top) {
        sum = sum * vexp(top - s) + T(1);
        top = s;
      } else {
        sum += vexp(s - top);  // a NaN gets here, and stays
      }
    }
  }
  shared[threadIdx.y * kWarp + threadIdx.x] = {top, static_cast<double>(sum),
                                               static_cast<double>(scores)};
  __syncthreads();
  if (threadIdx.y != 0 || r >= p.rows) return;
  RunningSum<T> all = shared[threadIdx.x];
  for (int i = 1; i < kWarps; ++i) {
    const RunningSum<T> other = shared[i * kWarp + threadIdx.x];
    const T high = other.top > all.top ? other.top : all.top;
    all.scores += other.scores;
    if (other.sum != 0) {
      all.sum = all.sum * static_cast<double>(vexp(all.top - high)) +
                other.sum * static_cast<double>(vexp(other.top - high));
      all.top = high;
    }
  }
  out[blockIdx.y * p.padded + r] = all;
}

// Block (32, kWarps) for kTileWords words and all rows; a warp keeps its words' sums in registers.
// K is a kernel without parts, or the part of one that has them; then word_stats, row_stats and
// sums are those of parts i and j, their words `stats_ld` apart.
template <class K, class T>
__global__ void slopes_kernel(K k, ComponentRun<T> p, HeadLanes<T> lanes, HeadSums<T> sums,
                              int64_t stats_ld, int64_t row_tile_ld, T log_pairs) {
  constexpr int kCount = K::kStats > 0 ? K::kStats : 1;
  T* shared = shared_memory<T>();  // [kWarps][kCount][32]
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kTileWords + threadIdx.y * kWarpWords;
  T bias_sum[kWarpWords] = {}, word_sum[kWarpWords][kCount] = {};
  for (int64_t panel = 0; panel < p.padded; panel += kWarp) {
    const int64_t r = panel + threadIdx.x;
    T row_sum[kCount] = {};
    if (r < p.rows) {
      const Stats<K, T> h = row_stats_of<K, T>(p.row_stats, r, p.padded);
      const int64_t target = p.targets[r];
      const T shift = target >= 0 ? lanes.shift : T(0);
#pragma unroll
      for (int j = 0; j < kWarpWords; ++j) {
        const int64_t v = first + j;
        if (v >= p.words) break;
        T& z = p.z[v * p.ld + r];
        if (target == p.word + v) {  // the target's own gradient is computed from the vectors
          bias_sum[j] += static_cast<T>(lanes.target_slope[r]);
          z = lanes.target_dz[r];
          continue;
        }
        const auto w = word_stats_of<K, T>(p.word_stats + v * stats_ld);
        T up = 0;
        if (lanes.up != nullptr) {
          up = lanes.up[v * p.padded + r];
          bias_sum[j] += up;
          // The pair's share in a mixture of parts, whose S has scale and bias.
          if (lanes.scores != nullptr)
            up *=
                vexp(scores::value_at(k, z, w.s, h.s) - (lanes.scores[v * p.padded + r] / p.scale -
                                                         (bias_of(p, v) / p.scale - log_pairs)));
        } else {
          const T s = p.scale * scores::value_at(k, z, w.s, h.s) + bias_of(p, v);
          up = lanes.weight[r] * vexp((s - lanes.lse[r]) - lanes.lse_rest[r]) - shift;
          bias_sum[j] += up;
        }
        if (up == T(0)) {  // even if the slope is infinite
          z = T(0);
          continue;
        }
        const auto slope = scores::slopes_at(k, z, w.s, h.s);
        up *= p.scale;
        z = up * slope.z;
        for (int i = 0; i < scores::kGradientsOf<K>; ++i) {
          word_sum[j][i] += up * slope.w[i];
          row_sum[i] += up * slope.h[i];
        }
      }
    } else {
      for (int j = 0; j < kWarpWords && first + j < p.words; ++j)
        p.z[(first + j) * p.ld + r] = T(0);
    }
    if constexpr (K::kStats > 0) {
      if (sums.row_stats == nullptr) continue;
      for (int i = 0; i < kCount; ++i)
        shared[(threadIdx.y * kCount + i) * kWarp + threadIdx.x] = row_sum[i];
      __syncthreads();
      for (int i = threadIdx.y; i < kCount; i += kWarps) {
        T sum = 0;
        for (int warp = 0; warp < kWarps; ++warp)
          sum += shared[(warp * kCount + i) * kWarp + threadIdx.x];
        sums.row_stats[blockIdx.x * row_tile_ld + i * p.padded + r] = sum;
      }
      __syncthreads();
    }
  }
#pragma unroll
  for (int j = 0; j < kWarpWords; ++j) {
    const int64_t v = first + j;
    if (sums.bias != nullptr) {
      const T sum = warp_sum(bias_sum[j]);
      if (threadIdx.x == 0 && v < p.words) put(sums.add_bias, sums.bias[v], sum);
    }
    if constexpr (K::kStats > 0) {
      if (sums.word_stats == nullptr) continue;
      for (int i = 0; i < kCount; ++i) {
        const T sum = warp_sum(word_sum[j][i]);
        if (threadIdx.x == 0 && v < p.words)
          sums.word_stats[v * stats_ld + i] += static_cast<double>(sum);
      }
    }
  }
}

template <class K, class T>
void launch_slopes(CudaDevice& device, const K& k, const ComponentRun<T>& p,
                   const HeadLanes<T>& lanes, const HeadSums<T>& sums, int64_t stats_ld,
                   int64_t row_tile_ld, T log_pairs) {
  constexpr int kCount = K::kStats > 0 ? K::kStats : 1;
  launch(device, "head_gradients", slopes_kernel<K, T>, dim3(blocks_of(p.words, kTileWords)),
         dim3(kWarp, kWarps), kWarps * kCount * kWarp * sizeof(T), k, p, lanes, sums, stats_ld,
         row_tile_ld, log_pairs);
}

// --- vectors

// One thread for each vector: the order of its sums is the CPU's.
template <class K, class T>
struct WordStats {
  K k;
  int64_t d;
  Vectors<T> x;
  double* out;
  NINE_D void operator()(int64_t, int64_t v) const {
    const int64_t size = d / k.parts();
    for (int64_t i = 0; i < k.parts(); ++i)
      k.stats(x.data + v * x.ld + i * size, size, out + (v * k.parts() + i) * K::kStats);
  }
};
template <class K, class T>
struct RowStats {
  K k;
  int64_t d;
  Vectors<T> x;
  int64_t padded;
  T* out;
  NINE_D void operator()(int64_t, int64_t r) const {
    const int64_t size = d / k.parts();
    double s[K::kStats > 0 ? K::kStats : 1];
    for (int64_t i = 0; i < k.parts(); ++i) {
      k.stats(x.data + r * x.ld + i * size, size, s);
      for (int n = 0; n < K::kStats; ++n)
        out[(i * K::kStats + n) * padded + r] = static_cast<T>(s[n]);
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
  NINE_D void operator()(int64_t, int64_t v) const {
    const int64_t size = d / k.parts();
    double s[K::kStats > 0 ? K::kStats : 1], ds[K::kStats > 0 ? K::kStats : 1];
    for (int64_t i = 0; i < k.parts(); ++i) {
      const T* part = x.data + v * x.ld + i * size;
      k.stats(part, size, s);
      for (int n = 0; n < K::kStats; ++n)
        ds[n] = dstats[v * by_vector + (i * K::kStats + n) * by_stat];
      k.stats_backward(part, size, s, ds, dx + v * ldx + i * size);
    }
  }
};

// S of whole vectors, without the scale.
template <class K, class T>
NINE_D double plain_exact(const K& k, const T* w, const T* h, int64_t d) {
  if constexpr (K::kExactTarget) {
    return k.exact(w, h, d, 0.0, static_cast<T*>(nullptr), static_cast<T*>(nullptr));
  } else {
    return k.value(scores::dot(w, h, d), static_cast<const double*>(nullptr),
                   static_cast<const double*>(nullptr));
  }
}

template <class K, class T>
struct Exact {
  K k;
  double scale;
  int64_t d;
  Vectors<T> w, h;
  const int32_t* targets;
  const T* bias;
  double* out;
  IndexErrors errors;
  int64_t first_row;
  NINE_D void operator()(int64_t, int64_t r) const {
    const int64_t y = checked(targets, r, -1, w.count, errors, first_row);
    if (y < 0) return;
    const T *word = w.data + y * w.ld, *context = h.data + r * h.ld;
    const double s = scale * plain_exact(k, word, context, d);
    out[r] = static_cast<double>(
        static_cast<T>(s + (bias != nullptr ? static_cast<double>(bias[y]) : 0.0)));
  }
};
template <class K, class T>
struct ExactSlopes {
  K k;
  double scale;
  int64_t d;
  Vectors<T> w, h;
  const int32_t* targets;
  const double* up;
  T* target_dz;
  T* dh;
  int64_t ldh;
  T* dw;
  NINE_D void operator()(int64_t, int64_t r) const {
    const int64_t y = targets[r];
    const bool counts = y >= 0 && y < w.count;
    const T *word = w.data + (counts ? y * w.ld : 0), *context = h.data + r * h.ld;
    if constexpr (K::kExactTarget) {
      if (target_dz != nullptr) target_dz[r] = T(0);
      if (dw != nullptr)
        for (int64_t i = 0; i < d; ++i) dw[r * d + i] = T(0);
      if (counts && (dh != nullptr || dw != nullptr))
        k.exact(word, context, d, scale * up[r], dw != nullptr ? dw + r * d : nullptr,
                dh != nullptr ? dh + r * ldh : nullptr);
    } else {
      const double none = 0;
      if (target_dz != nullptr)
        target_dz[r] = counts
                           ? static_cast<T>(scale * up[r] *
                                            k.slopes(scores::dot(word, context, d), &none, &none).z)
                           : T(0);
    }
  }
};

// --- launches

template <class K>
K kernel_of(CudaDevice& device, const Score& score, int64_t d) {
  if constexpr (std::is_same_v<K, scores::ExprPair>) {
    return formula_on(device, score, d);
  } else {
    return K(score, d);
  }
}

template <class K, class T>
void values(CudaDevice& device, const Score& score, int64_t d, const ComponentRun<T>& p, T* out) {
  each(device, "head_scores", {p.words, p.rows},
       Values<K, T>{kernel_of<K>(device, score, d), p, out});
}

template <class K, class T>
void running(CudaDevice& device, const Score& score, int64_t d, const ComponentRun<T>& p,
             RunningSum<T>* out) {
  launch(device, "head_scores", running_kernel<K, T>,
         dim3(blocks_of(p.rows, kWarp), blocks_of(p.words, kSplitWords)), dim3(kWarp, kWarps),
         kWarps * kWarp * sizeof(RunningSum<T>), kernel_of<K>(device, score, d), p, out);
}

template <class K, class T>
void slopes(CudaDevice& device, const Score& score, int64_t d, const ComponentRun<T>& p,
            const HeadLanes<T>& lanes, const HeadSums<T>& sums) {
  const K k = kernel_of<K>(device, score, d);
  const int64_t parts = k.parts(), stats = parts * K::kStats;
  if constexpr (OfParts<K>) {
    const T log_pairs = static_cast<T>(std::log(static_cast<double>(parts * parts)));
    for (int64_t i = 0; i < parts; ++i)
      for (int64_t j = 0; j < parts; ++j) {
        ComponentRun<T> pair = p;
        pair.z += (i * parts + j) * p.padded;
        pair.word_stats += i * K::kStats;
        pair.row_stats += j * K::kStats * p.padded;
        HeadLanes<T> own = lanes;
        if (!k.mixture) own.scores = nullptr;
        HeadSums<T> to = sums;
        if (i + j > 0) to.bias = nullptr;  // a word's bias is counted with one pair only
        if (to.word_stats != nullptr) to.word_stats += i * K::kStats;
        // A plane for each pair; the sums over parts i are formed later.
        if (to.row_stats != nullptr) to.row_stats += (i * parts + j) * K::kStats * p.padded;
        launch_slopes(device, k.part, pair, own, to, stats, parts * stats * p.padded, log_pairs);
      }
  } else {
    launch_slopes(device, k, p, lanes, sums, stats, stats * p.padded, T(0));
  }
}

template <class K, class T>
void word_stats(CudaDevice& device, const Score& score, int64_t d, const Vectors<T>& x,
                double* out) {
  if constexpr (K::kStats > 0)
    each(device, "head_stats", {1, x.count},
         WordStats<K, T>{kernel_of<K>(device, score, d), d, x, out});
}
template <class K, class T>
void row_stats(CudaDevice& device, const Score& score, int64_t d, const Vectors<T>& x,
               int64_t padded, T* out) {
  if constexpr (K::kStats > 0)
    each(device, "head_scores", {1, x.count},
         RowStats<K, T>{kernel_of<K>(device, score, d), d, x, padded, out});
}
template <class K, class T>
void stats_backward(CudaDevice& device, const Score& score, int64_t d, const Vectors<T>& x,
                    const double* dstats, int64_t by_vector, int64_t by_stat, T* dx, int64_t ldx) {
  if constexpr (K::kStats > 0)
    each(device, "head_stats_backward", {1, x.count},
         StatsBackward<K, T>{kernel_of<K>(device, score, d), d, x, dstats, by_vector, by_stat, dx,
                             ldx});
}
template <class K, class T>
void exact(CudaDevice& device, const Score& score, int64_t d, const Vectors<T>& w,
           const Vectors<T>& h, const int32_t* targets, int64_t first_row, const T* bias,
           double* out) {
  each(device, "head_scores", {1, h.count},
       Exact<K, T>{kernel_of<K>(device, score, d), score.scale, d, w, h, targets, bias, out,
                   device.index_errors("head_scores"), first_row});
}
template <class K, class T>
void exact_slopes(CudaDevice& device, const Score& score, int64_t d, const Vectors<T>& w,
                  const Vectors<T>& h, const int32_t* targets, const double* up, T* target_dz,
                  T* dh, int64_t ldh, T* dw) {
  each(device, "head_gradients", {1, h.count},
       ExactSlopes<K, T>{kernel_of<K>(device, score, d), score.scale, d, w, h, targets, up,
                         target_dz, dh, ldh, dw});
}

// --- learned numbers

template <class K>
concept LearnsParameters = requires(const K& k, const double* s) {
  k.parameter_slope(0, 1.0, s, s);
};

// up dS/d(number) of element i, word after word.
template <class K, class T>
struct NumberGradient {
  K k;
  ComponentRun<T> p;
  int number;
  const T* up;  // [word of the run][padded]

  NINE_D double operator()(int64_t i) const {
    const int64_t v = i / p.rows, r = i % p.rows;
    const T g = up[v * p.padded + r];
    if (g == T(0)) return 0;  // targets, and whatever the slope
    const Stats<K, T> h = own_row_stats<K, T>(p, r);
    if (number == kScaleNumber) return static_cast<double>(g * plain_score_of(k, p, v, r, h));
    return static_cast<double>(p.scale * g * parameter_slope(v, r, h));
  }
  NINE_D T parameter_slope(int64_t v, int64_t r, const Stats<K, T>& h) const {
    if constexpr (OfParts<K>) {
      using Part = std::remove_cvref_t<decltype(k.part)>;
      const int64_t parts = k.parts();
      const T all =
          k.mixture ? plain_score_of(k, p, v, r, h) + vlog(static_cast<T>(parts * parts)) : T(0);
      T sum = 0;
      for (int64_t i = 0; i < parts; ++i) {
        const auto w = word_stats_of<Part, T>(p.word_stats + (v * parts + i) * K::kStats);
        for (int64_t j = 0; j < parts; ++j) {
          const auto own =
              row_stats_of<Part, T>(p.row_stats + j * K::kStats * p.padded, r, p.padded);
          const T z = p.z[v * p.ld + (i * parts + j) * p.padded + r],
                  share = k.mixture ? vexp(scores::value_at(k.part, z, w.s, own.s) - all) : T(1);
          sum += share * k.part.parameter_slope(number, z, w.s, own.s);
        }
      }
      return sum;
    } else if constexpr (LearnsParameters<K>) {
      return k.parameter_slope(number, p.z[v * p.ld + r],
                               word_stats_of<K, T>(p.word_stats + v * K::kStats).s, h.s);
    } else {
      return T(0);
    }
  }
};
template <class K, class T>
struct ExactNumberGradient {
  K k;
  double scale;
  int64_t d;
  Vectors<T> w, h;
  const int32_t* targets;
  int number;
  const double* up;
  NINE_D double operator()(int64_t r) const {
    const int64_t y = targets[r];
    if (y < 0 || y >= w.count || up[r] == 0) return 0;
    const T *word = w.data + y * w.ld, *context = h.data + r * h.ld;
    if (number == kScaleNumber) return up[r] * plain_exact(k, word, context, d);
    if constexpr (requires { k.exact_parameter_slope(number, word, context, d); }) {
      return scale * up[r] * k.exact_parameter_slope(number, word, context, d);
    } else if constexpr (LearnsParameters<K>) {
      const double none = 0;
      return scale * up[r] * k.parameter_slope(number, scores::dot(word, context, d), &none, &none);
    } else {
      return 0;
    }
  }
};

template <class K, class T>
void numbers(CudaDevice& device, const Score& score, int64_t d, const ComponentRun<T>& p,
             const T* up, double* out) {
  for (int i = 0; i < kMaxScoreNumbers; ++i)
    if (score.learns(i))
      sum_of(device, "head_gradients", p.words * p.rows,
             NumberGradient<K, T>{kernel_of<K>(device, score, d), p, i, up},
             PutSum<double>{out++, true});
}
template <class K, class T>
void exact_numbers(CudaDevice& device, const Score& score, int64_t d, const Vectors<T>& w,
                   const Vectors<T>& h, const int32_t* targets, const double* up, double* out) {
  for (int i = 0; i < kMaxScoreNumbers; ++i)
    if (score.learns(i))
      sum_of(device, "head_gradients", h.count,
             ExactNumberGradient<K, T>{kernel_of<K>(device, score, d), score.scale, d, w, h,
                                       targets, i, up},
             PutSum<double>{out++, true});
}

template <class K, class T>
constexpr HeadLaunches<T> kLaunches{
    values<K, T>,         running<K, T>, slopes<K, T>,       word_stats<K, T>, row_stats<K, T>,
    stats_backward<K, T>, exact<K, T>,   exact_slopes<K, T>, numbers<K, T>,    exact_numbers<K, T>};

}  // namespace

template <class T>
HeadKernel<T>::HeadKernel(const Score& s, int64_t d) {
  scores::visit_component(s, d, [&](const auto& k) {
    using K = std::remove_cvref_t<decltype(k)>;
    static_cast<scores::Layout&>(*this) = scores::layout_of(k, d);
    if constexpr (std::is_same_v<K, scores::Expr>) {
      launches = &kLaunches<scores::ExprPair, T>;
    } else {
      launches = &kLaunches<K, T>;
    }
  });
}

}  // namespace nine::cuda
