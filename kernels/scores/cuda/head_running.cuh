// The forward pass over a component's products, for kernels/scores/cuda/head_kernels_impl.cuh: sums
// of exponentials over words.
#pragma once

#include <type_traits>

#include "cuda/exponential.cuh"
#include "kernels/scores/cuda/head_pair_scores.cuh"

namespace nine::cuda {
namespace {

// Words of a chunk. A thread loads the products of a chunk before it uses the first one, and
// rescales its sum once for all of them. A score of a program or of parts is a loop of its own.
template <class K>
inline constexpr int kChunkWords = OfParts<K> || kIsProgram<K> ? 1 : 8;

constexpr int kRunningWords = kSplitWords / kWarps;  // consecutive words of a warp

template <class K, class T>
using SplitNumbers = WordNumbers<OfParts<K> ? 0 : K::kStats, T, kSplitWords>;

// s[j] = S of the split's word `at` + j and row r, with scale and bias, from the product. `h` are
// the row's statistics.
template <class K, class T, int n>
NINE_D void product_scores(const K& k, const ComponentRun<T>& p, const SplitNumbers<K, T>& numbers,
                           int64_t first, int at, uint32_t r, const Stats<K, T>& h, T (&s)[n]) {
  T bias[n];
  numbers.bias(at, bias);
  if constexpr (OfParts<K>) {
    for (int j = 0; j < n; ++j)
      s[j] = p.scale * plain_score_of(k, p, first + at + j, r, h) + bias[j];
  } else {
    const uint32_t ld = static_cast<uint32_t>(p.ld);
    const T* z_of = p.z + (first + at) * p.ld + r;
    T z[n];
    Stats<K, T> w[n]{};
#pragma unroll
    for (int j = 0; j < n; ++j) z[j] = z_of[static_cast<uint32_t>(j) * ld];
    load_now(z);
    numbers.template stats<K>(at, w);
#pragma unroll
    for (int j = 0; j < n; ++j)
      s[j] = p.scale * scores::value_at<ApproximateMath>(k, z[j], w[j].s, h.s) + bias[j];
  }
}

// Block (32, kWarps): one panel of rows with kSplitWords words.
template <class K, class T>
__global__ void running_kernel(K k, ComponentRun<T> p, RunningSum<T>* out) {
  const SplitNumbers<K, T> numbers{shared_memory<T>()};
  RunningSum<T>* shared = reinterpret_cast<RunningSum<T>*>(numbers.end());  // [kWarps][32]
  const uint32_t r = blockIdx.x * kWarp + threadIdx.x;
  const int64_t split = static_cast<int64_t>(blockIdx.y) * kSplitWords;
  numbers.fill(p, split, K::kStats);
  __syncthreads();
  const int own = static_cast<int>(threadIdx.y) * kRunningWords;
  const int64_t left = p.words - split - own;
  const int end = own + static_cast<int>(left < 0               ? 0
                                         : left < kRunningWords ? left
                                                                : kRunningWords);
  RunningLogSumExp<T> sum;
  T scores = 0;
  if (r < p.rows) {
    const Stats<K, T> h = own_row_stats<K, T>(p, r);
    // Below 0, or from kSplitWords on, if the row's target is not a word of this split.
    const int target = p.targets[r] - static_cast<int>(p.word + split);
    const auto add = [&](auto words, int at) {
      constexpr int n = decltype(words)::value;
      T s[n];
      product_scores(k, p, numbers, split, at, r, h, s);
      if (static_cast<unsigned>(target - at) < static_cast<unsigned>(n)) {
        const T exact = static_cast<T>(p.target_score[r]);
#pragma unroll
        for (int j = 0; j < n; ++j) s[j] = at + j == target ? exact : s[j];
      }
      add_terms(sum, s);
#pragma unroll
      for (int j = 0; j < n; ++j) scores += s[j];
    };
    constexpr int kChunk = kChunkWords<K>;
    int at = own;
#pragma unroll 1
    for (; at + kChunk <= end; at += kChunk) add(std::integral_constant<int, kChunk>{}, at);
    if constexpr (kChunk > 1)
#pragma unroll 1
      for (; at < end; ++at) add(std::integral_constant<int, 1>{}, at);
  }
  shared[threadIdx.y * kWarp + threadIdx.x] = {{sum.top, static_cast<double>(sum.sum)},
                                               static_cast<double>(scores)};
  __syncthreads();
  if (threadIdx.y != 0 || r >= p.rows) return;
  RunningSum<T> all = shared[threadIdx.x];
  for (int i = 1; i < kWarps; ++i) {
    const RunningSum<T> other = shared[i * kWarp + threadIdx.x];
    all.scores += other.scores;
    all.merge(other);
  }
  out[blockIdx.y * p.padded + r] = all;
}

template <class K, class T>
void running(const HeadScore& of, const ComponentRun<T>& p, RunningSum<T>* out) {
  check_offsets(p);
  launch(of.device, "head_scores", running_kernel<K, T>,
         dim3(blocks_of(p.rows, kWarp), blocks_of(p.words, kSplitWords)), dim3(kWarp, kWarps),
         SplitNumbers<K, T>::kBytes + kWarps * kWarp * sizeof(RunningSum<T>), kernel_of<K>(of), p,
         out);
}

}  // namespace
}  // namespace nine::cuda
