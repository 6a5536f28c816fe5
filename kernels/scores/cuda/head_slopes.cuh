// The backward pass over a component's products, for kernels/scores/cuda/head_kernels_impl.cuh:
// replaces z by dL/dz and sums over words and rows.
#pragma once

#include "kernels/scores/cuda/head_pair_scores.cuh"

namespace nine::cuda {
namespace {

constexpr int kWarpWords = kTileWords / kWarps;  // words per warp

template <class K>
inline constexpr int kStatsOf = K::kStats > 0 ? K::kStats : 1;

template <class K>
inline constexpr bool kIsProgram = std::is_same_v<K, scores::ExprPair>;

// The least number of slopes_kernel's blocks on a multiprocessor. Three blocks leave 80 registers
// to a thread, too few for programs and for words with several sums.
template <class K, class T>
inline constexpr int kSlopeBlocks = sizeof(T) > 4                                  ? 1
                                    : scores::kGradientsOf<K> > 1 || kIsProgram<K> ? 2
                                                                                   : 3;

// The memory of a kernel's programs: one place that all pairs of a thread share.
struct NoSpace {};
template <class K, class T>
struct SpaceOf {
  using Type = NoSpace;
};
template <class T>
struct SpaceOf<scores::ExprPair, T> {
  using Type = scores::ExprPair::Space<T>;
};
template <class K, class T, class Space>
NINE_D T value_in(Space& space, const K& k, T z, const T* w, const T* h) {
  if constexpr (std::is_same_v<Space, NoSpace>) {
    return scores::value_at(k, z, w, h);
  } else {
    return k.value_in(space, z, w, h);
  }
}
template <class K, class T, class Space>
NINE_D auto slopes_in(Space& space, const K& k, T z, const T* w, const T* h) {
  if constexpr (std::is_same_v<Space, NoSpace>) {
    return scores::slopes_at(k, z, w, h);
  } else {
    return k.slopes_in(space, z, w, h);
  }
}

// Sums over the rows of a chunk (slope_chunks): [chunk][dL/dS, then dL/d(statistic)][word].
// finish_words adds them to HeadSums.
template <class T>
struct ChunkSums {
  T* data;
  int64_t words;
  int numbers;
  NINE_D T& at(int64_t chunk, int number, int64_t v) const {
    return data[(chunk * numbers + number) * words + v];
  }
};

// Block (32, kWarps) for kTileWords words and a chunk of the rows; a warp keeps its words' sums in
// registers. K is a kernel without parts, or the part of a kernel of parts; then word_stats,
// row_stats and sums belong to parts i and j, and their words lie `stats_ld` apart. A thread loads
// the products of all of its words before it stores the first slope. Loads after a store would wait
// for the store, because the compiler cannot rule out that the store changed their data.
template <class K, class T>
__global__ void __launch_bounds__(kWarp* kWarps, kSlopeBlocks<K, T>)
    slopes_kernel(K k, ComponentRun<T> p, HeadLanes<T> lanes, HeadSums<T> sums, ChunkSums<T> chunks,
                  int64_t stats_ld, int64_t row_tile_ld, T log_pairs) {
  constexpr int kCount = kStatsOf<K>;
  T* tile_stats = shared_memory<T>();               // [kTileWords][kCount]
  T* tile_bias = tile_stats + kTileWords * kCount;  // [kTileWords]
  T* row_sums = tile_bias + kTileWords;             // [kWarps][kCount][32]
  const int64_t tile = static_cast<int64_t>(blockIdx.x) * kTileWords;
  for (int i = static_cast<int>(threadIdx.y * kWarp + threadIdx.x); i < kTileWords;
       i += kWarp * kWarps) {
    const int64_t v = tile + i < p.words ? tile + i : p.words - 1;
    tile_bias[i] = bias_of(p, v);
    for (int n = 0; n < K::kStats; ++n)
      tile_stats[i * kCount + n] = static_cast<T>(p.word_stats[v * stats_ld + n]);
  }
  __syncthreads();
  const int own = static_cast<int>(threadIdx.y) * kWarpWords;  // this warp's words of the tile
  const int64_t first = tile + own,
                count = p.words - first < kWarpWords ? p.words - first : kWarpWords;
  const T* __restrict__ w = tile_stats + own * kCount;
  const T* __restrict__ bias = tile_bias + own;
  typename SpaceOf<K, T>::Type space;
  T bias_sum[kWarpWords] = {}, word_sum[kWarpWords][kCount] = {};
  const int64_t chunk_rows = rows_of_chunk(p.padded), begin = blockIdx.y * chunk_rows,
                end = begin + chunk_rows < p.padded ? begin + chunk_rows : p.padded;
  for (int64_t panel = begin; panel < end; panel += kWarp) {
    const int64_t r = panel + threadIdx.x;
    T* __restrict__ z_of = p.z + first * p.ld + r;
    T row_sum[kCount] = {};
    if (r < p.rows) {
      const Stats<K, T> h = row_stats_of<K, T>(p.row_stats, r, p.padded);
      const int64_t target = p.targets[r];
      // The index, among this warp's words, of the row's target; at least kWarpWords if the target
      // is not among them.
      const auto target_word = static_cast<uint64_t>(target - p.word - first);
      T z[kWarpWords], up[kWarpWords] = {};
#pragma unroll
      for (int j = 0; j < kWarpWords; ++j) z[j] = j < count ? z_of[j * p.ld] : T(0);
      if (lanes.up != nullptr) {
        const T* __restrict__ up_of = lanes.up + first * p.padded + r;
#pragma unroll
        for (int j = 0; j < kWarpWords; ++j) up[j] = j < count ? up_of[j * p.padded] : T(0);
#pragma unroll
        for (int j = 0; j < kWarpWords; ++j) bias_sum[j] += up[j];  // 0 of a target
        if (!kIsProgram<K> && lanes.scores != nullptr) {            // a program is never a part
          // The pair's share in a mixture of parts, whose S has scale and bias. It is at most 1, as
          // on the CPU: for a word that is left out (kLeftOut), S has lost its digits.
          const T* __restrict__ all = lanes.scores + first * p.padded + r;
          for (int j = 0; j < kWarpWords; ++j)
            if (j < count) {
              const T below = value_in(space, k, z[j], w + j * kCount, h.s) -
                              (all[j * p.padded] / p.scale - (bias[j] / p.scale - log_pairs));
              up[j] *= vexp(below < T(0) ? below : T(0));
            }
        }
      } else {
        const T lse = lanes.lse[r], lse_rest = lanes.lse_rest[r], weight = lanes.weight[r],
                shift = lanes.shift[r];
#pragma unroll
        for (int j = 0; j < kWarpWords; ++j) {
          const T s = p.scale * value_in(space, k, z[j], w + j * kCount, h.s) + bias[j];
          up[j] = j >= count || static_cast<uint64_t>(j) == target_word
                      ? T(0)
                      : weight * vexp((s - lse) - lse_rest) - shift;
          bias_sum[j] += up[j];
        }
      }
#pragma unroll
      for (int j = 0; j < kWarpWords; ++j) {
        T dz = 0;
        // The target's slope is computed from the vectors.
        if (static_cast<uint64_t>(j) == target_word) {
          bias_sum[j] += static_cast<T>(lanes.target_slope[r]);
          dz = lanes.target_dz[r];
        } else if (up[j] != T(0)) {  // else 0, even for an infinite slope
          const auto slope = slopes_in(space, k, z[j], w + j * kCount, h.s);
          const T g = up[j] * p.scale;
          dz = g * slope.z;
          for (int i = 0; i < scores::kGradientsOf<K>; ++i) {
            word_sum[j][i] += g * slope.w[i];
            row_sum[i] += g * slope.h[i];
          }
        }
        if (j < count) z_of[j * p.ld] = dz;
      }
    } else {
      for (int j = 0; j < count; ++j) z_of[j * p.ld] = T(0);
    }
    if constexpr (K::kStats > 0) {
      if (sums.row_stats == nullptr) continue;
      for (int i = 0; i < kCount; ++i)
        row_sums[(threadIdx.y * kCount + i) * kWarp + threadIdx.x] = row_sum[i];
      __syncthreads();
      for (int i = threadIdx.y; i < kCount; i += kWarps) {
        T sum = 0;
        for (int warp = 0; warp < kWarps; ++warp)
          sum += row_sums[(warp * kCount + i) * kWarp + threadIdx.x];
        sums.row_stats[blockIdx.x * row_tile_ld + i * p.padded + r] = sum;
      }
      __syncthreads();
    }
  }
#pragma unroll
  for (int j = 0; j < kWarpWords; ++j) {
    if (sums.bias != nullptr) {
      const T sum = warp_sum(bias_sum[j]);
      if (threadIdx.x == 0 && j < count) chunks.at(blockIdx.y, 0, first + j) = sum;
    }
    if constexpr (K::kStats > 0) {
      if (sums.word_stats == nullptr) continue;
      for (int i = 0; i < scores::kGradientsOf<K>; ++i) {
        const T sum = warp_sum(word_sum[j][i]);
        if (threadIdx.x == 0 && j < count) chunks.at(blockIdx.y, 1 + i, first + j) = sum;
      }
    }
  }
}

// Adds the words' sums over all chunks, in the order of the chunks.
template <class T>
struct FinishWords {
  ChunkSums<T> chunks;
  int64_t count;  // number of chunks
  HeadSums<T> sums;
  int64_t stats_ld;
  NINE_D void operator()(int64_t number, int64_t v) const {
    if (number == 0) {
      if (sums.bias == nullptr) return;
      T sum = 0;
      for (int64_t c = 0; c < count; ++c) sum += chunks.at(c, 0, v);
      put(sums.add_bias, sums.bias[v], sum);
      return;
    }
    if (sums.word_stats == nullptr) return;
    double sum = 0;
    for (int64_t c = 0; c < count; ++c)
      sum += static_cast<double>(chunks.at(c, static_cast<int>(number), v));
    sums.word_stats[v * stats_ld + number - 1] += sum;
  }
};

template <class K, class T>
void launch_slopes(CudaDevice& device, const K& k, const ComponentRun<T>& p,
                   const HeadLanes<T>& lanes, const HeadSums<T>& sums, int64_t stats_ld,
                   int64_t row_tile_ld, T log_pairs) {
  constexpr int kCount = kStatsOf<K>;
  const ChunkSums<T> chunks{sums.chunks, p.words, 1 + scores::kGradientsOf<K>};
  const int64_t count = slope_chunks(p.padded);
  launch(device, "head_gradients", slopes_kernel<K, T>,
         dim3(blocks_of(p.words, kTileWords), static_cast<unsigned>(count)), dim3(kWarp, kWarps),
         (kTileWords * (kCount + 1) + kWarps * kCount * kWarp) * sizeof(T), k, p, lanes, sums,
         chunks, stats_ld, row_tile_ld, log_pairs);
  if (sums.bias != nullptr || sums.word_stats != nullptr)
    each(device, "head_gradients", {chunks.numbers, p.words},
         FinishWords<T>{chunks, count, sums, stats_ld});
}

template <class K, class T>
void slopes(const HeadScore& of, const ComponentRun<T>& p, const HeadLanes<T>& lanes,
            const HeadSums<T>& sums) {
  const K k = kernel_of<K>(of);
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
        if (i + j > 0) to.bias = nullptr;  // only one pair counts a word's bias
        if (to.word_stats != nullptr) to.word_stats += i * K::kStats;
        // Each pair has a plane; the sums over parts i are computed later.
        if (to.row_stats != nullptr) to.row_stats += (i * parts + j) * K::kStats * p.padded;
        launch_slopes(of.device, k.part, pair, own, to, stats, parts * stats * p.padded, log_pairs);
      }
  } else {
    launch_slopes(of.device, k, p, lanes, sums, stats, stats * p.padded, T(0));
  }
}

}  // namespace
}  // namespace nine::cuda
