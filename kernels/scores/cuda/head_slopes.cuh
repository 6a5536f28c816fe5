// The backward pass over a component's products, for kernels/scores/cuda/head_kernels_impl.cuh:
// replaces z by dL/dz and sums over words and rows.
#pragma once

#include "cuda/exponential.cuh"
#include "kernels/scores/cuda/head_pair_scores.cuh"

namespace nine::cuda {
namespace {

constexpr int kWarpWords = kTileWords / kWarps;  // words per warp

template <class K>
inline constexpr int kStatsOf = K::kStats > 0 ? K::kStats : 1;

template <class K, class T>
using TileNumbers = WordNumbers<K::kStats, T, kTileWords>;

// True of the kernel of a part of vectors.
template <class K>
inline constexpr bool kIsPart = std::is_same_v<K, decltype(scores::Mog::part)>;

// True of a kernel whose slope dS/dz is the same for every pair.
template <class K>
inline constexpr bool kConstantSlope = requires {
  K::kConstantSlope;
};

// The least number of slopes_kernel's blocks on a multiprocessor. Three blocks leave 80 registers
// to a thread, enough where the slope is a constant.
template <class K, class T>
inline constexpr int kSlopeBlocks = sizeof(T) > 4       ? 1
                                    : kConstantSlope<K> ? 3
                                                        : 2;

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
    return scores::value_at<ApproximateMath>(k, z, w, h);
  } else {
    return k.value_in(space, z, w, h);
  }
}
template <class K, class T, class Space>
NINE_D auto slopes_in(Space& space, const K& k, T z, const T* w, const T* h) {
  if constexpr (std::is_same_v<Space, NoSpace>) {
    return scores::slopes_at<ApproximateMath>(k, z, w, h);
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

// Multiplies up[j] by the pair's share in a mixture of parts, whose score `all` has scale and bias.
// The share is at most 1, as on the CPU: for a word that is left out (kLeftOut), the score has lost
// its digits.
template <class K, class T, class Space>
NINE_D void take_shares(Space& space, const K& k, const ComponentRun<T>& p,
                        const TileNumbers<K, T>& numbers, int own, const T* all,
                        const uint32_t (&at)[kWarpWords], T log_pairs, const T (&z)[kWarpWords],
                        const Stats<K, T>& h, T (&up)[kWarpWords]) {
  T whole[kWarpWords];
#pragma unroll
  for (int j = 0; j < kWarpWords; ++j) whole[j] = all[at[j]];
  load_now(whole);
#pragma unroll
  for (int j = 0; j < kWarpWords; ++j) {
    T bias[1];
    Stats<K, T> w[1]{};
    numbers.bias(own + j, bias);
    numbers.template stats<K>(own + j, w);
    const T below = value_in(space, k, z[j], w[0].s, h.s) -
                    (whole[j] / p.scale - (bias[0] / p.scale - log_pairs));
    up[j] = up[j] != T(0) ? up[j] * vexp(below < T(0) ? below : T(0)) : T(0);
  }
}

// Block (32, kWarps) for kTileWords words and a chunk of the rows; a warp keeps its words' sums in
// registers. K is a kernel without parts, or the part of a kernel of parts; then word_stats,
// row_stats and sums belong to parts i and j, and their words lie `stats_ld` apart. A thread loads
// the products of all of its words before it stores the first slope. Loads after a store would wait
// for the store, because the compiler cannot rule out that the store changed their data. With
// kGiven, lanes.up has dL/dS; otherwise it is computed from the score. The loop over rows has no
// branch for words: a warp with fewer than kWarpWords words computes its last one several times.
template <class K, class T, bool kGiven>
__global__ void __launch_bounds__(kWarp* kWarps, kSlopeBlocks<K, T>)
    slopes_kernel(K k, ComponentRun<T> p, HeadLanes<T> lanes, HeadSums<T> sums, ChunkSums<T> chunks,
                  int64_t stats_ld, int64_t row_tile_ld, T log_pairs) {
  constexpr int kCount = kStatsOf<K>;
  constexpr int kTogether = 16 / sizeof(T);  // numbers of words that a load of shared memory reads
  const TileNumbers<K, T> numbers{shared_memory<T>()};
  T* row_sums = numbers.end();  // [kWarps][kCount][32]
  const int64_t tile = static_cast<int64_t>(blockIdx.x) * kTileWords;
  numbers.fill(p, tile, stats_ld);
  __syncthreads();
  const int own = static_cast<int>(threadIdx.y) * kWarpWords;  // this warp's words of the tile
  const int64_t first = tile + own, left = p.words - first;
  const int count = static_cast<int>(left < 0 ? 0 : left < kWarpWords ? left : kWarpWords);
  // Offsets of the warp's words in the planes of products and of `up`.
  uint32_t at[kWarpWords], up_at[kWarpWords];
#pragma unroll
  for (int j = 0; j < kWarpWords; ++j) {
    const auto word = static_cast<uint32_t>(j < count ? j : count - 1);
    at[j] = word * static_cast<uint32_t>(p.ld);
    up_at[j] = word * static_cast<uint32_t>(p.padded);
  }
  typename SpaceOf<K, T>::Type space;
  T bias_sum[kWarpWords] = {}, word_sum[kWarpWords][kCount] = {};
  const auto rows = static_cast<uint32_t>(p.rows), padded = static_cast<uint32_t>(p.padded),
             chunk_rows = static_cast<uint32_t>(rows_of_chunk(p.padded)),
             begin = blockIdx.y * chunk_rows,
             end = begin + chunk_rows < padded ? begin + chunk_rows : padded;
  for (uint32_t panel = begin; panel < end; panel += kWarp) {
    const uint32_t r = panel + threadIdx.x;
    T row_sum[kCount] = {};
    if (r < rows && count > 0) {
      T* z_of = p.z + first * p.ld + r;
      T z[kWarpWords], given[kWarpWords];
#pragma unroll
      for (int j = 0; j < kWarpWords; ++j) z[j] = z_of[at[j]];
      if constexpr (kGiven) {
        const T* up_of = lanes.up + first * p.padded + r;
#pragma unroll
        for (int j = 0; j < kWarpWords; ++j) given[j] = up_of[up_at[j]];
      }
      const Stats<K, T> h = row_stats_of<K, T>(p.row_stats, r, p.padded);
      const int32_t row_target = p.targets[r];
      const T lse = kGiven ? T(0) : lanes.lse[r], lse_rest = kGiven ? T(0) : lanes.lse_rest[r],
              weight = kGiven ? T(0) : lanes.weight[r], shift = kGiven ? T(0) : lanes.shift[r];
      load_now(z);
      if constexpr (kGiven) load_now(given);
      // The index, among this warp's words, of the row's target; at least `count` if the target is
      // not among them.
      const auto target = static_cast<uint32_t>(row_target - static_cast<int>(p.word + first));
      if constexpr (kGiven) {
#pragma unroll
        for (int j = 0; j < kWarpWords; ++j) bias_sum[j] += given[j];  // 0 of a target
      }
      if constexpr (kGiven && kIsPart<K>)
        if (lanes.scores != nullptr)
          take_shares(space, k, p, numbers, own, lanes.scores + first * p.padded + r, up_at,
                      log_pairs, z, h, given);
      T bias[kTogether];
      Stats<K, T> w[kTogether]{};
#pragma unroll
      for (int j = 0; j < kWarpWords; ++j) {
        const int place = j % kTogether;
        if (place == 0) {
          numbers.bias(own + j, bias);
          numbers.template stats<K>(own + j, w);
        }
        const bool is_target = static_cast<uint32_t>(j) == target;
        T up = 0;
        if constexpr (kGiven) {
          up = is_target ? T(0) : given[j];
        } else {
          const T s = p.scale * value_in(space, k, z[j], w[place].s, h.s) + bias[place];
          up = is_target ? T(0) : weight * term_exp((s - lse) - lse_rest) - shift;
          bias_sum[j] += up;
        }
        const T g = up * p.scale;
        const auto slope = slopes_in(space, k, z[j], w[place].s, h.s);
        const bool counts = kConstantSlope<K> || up != T(0);  // else 0, even for an infinite slope
        for (int i = 0; i < scores::kGradientsOf<K>; ++i) {
          word_sum[j][i] += counts ? g * slope.w[i] : T(0);
          row_sum[i] += counts && j < count ? g * slope.h[i] : T(0);
        }
        z_of[at[j]] = counts ? g * slope.z : T(0);
      }
      // The target's slope is computed from the vectors.
      if (target < static_cast<uint32_t>(count)) {
        z_of[target * static_cast<uint32_t>(p.ld)] = lanes.target_dz[r];
        const T slope = static_cast<T>(lanes.target_slope[r]);
#pragma unroll
        for (int j = 0; j < kWarpWords; ++j)
          if (static_cast<uint32_t>(j) == target) bias_sum[j] += slope;
      }
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
  // Rows of padding have no gradient.
#pragma unroll 1
  for (uint32_t r = (rows > begin ? rows : begin) + threadIdx.x; r < end; r += kWarp)
#pragma unroll 1
    for (int j = 0; j < count; ++j) p.z[(first + j) * p.ld + r] = T(0);
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
  check_offsets(p);
  launch(device, "head_gradients",
         lanes.up != nullptr ? slopes_kernel<K, T, true> : slopes_kernel<K, T, false>,
         dim3(blocks_of(p.words, kTileWords), static_cast<unsigned>(count)), dim3(kWarp, kWarps),
         TileNumbers<K, T>::kBytes + kWarps * kCount * kWarp * sizeof(T), k, p, lanes, sums, chunks,
         stats_ld, row_tile_ld, log_pairs);
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
