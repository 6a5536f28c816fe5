// Defines the CUDA kernels of kernels/scores/cuda/head_kernels.cuh over every score struct. One .cu
// file for each float type includes this file, so that the two compile in parallel.
#pragma once

#include "kernels/scores/cuda/head_numbers.cuh"
#include "kernels/scores/cuda/head_slopes.cuh"

namespace nine::cuda {
namespace {

template <class K, class T>
struct Values {
  K k;
  ComponentRun<T> p;
  T* out;
  NINE_D void operator()(int64_t v, int64_t r) const {
    out[v * p.padded + r] = full_score(k, p, v, r, own_row_stats<K, T>(p, r));
  }
};

// Block (32, kWarps): one panel of rows with kSplitWords words.
template <class K, class T>
__global__ void running_kernel(K k, ComponentRun<T> p, RunningSum<T>* out) {
  RunningSum<T>* shared = shared_memory<RunningSum<T>>();  // [kWarps][32]
  const int64_t r = static_cast<int64_t>(blockIdx.x) * kWarp + threadIdx.x,
                first = static_cast<int64_t>(blockIdx.y) * kSplitWords;
  const int64_t end = first + kSplitWords < p.words ? first + kSplitWords : p.words;
  RunningLogSumExp<T> own;
  T scores = 0;
  if (r < p.rows) {
    const Stats<K, T> h = own_row_stats<K, T>(p, r);
    for (int64_t v = first + threadIdx.y; v < end; v += kWarps) {
      const T s = full_score(k, p, v, r, h);
      scores += s;
      own.add(s);
    }
  }
  shared[threadIdx.y * kWarp + threadIdx.x] = {{own.top, static_cast<double>(own.sum)},
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
void values(const HeadScore& of, const ComponentRun<T>& p, T* out) {
  each(of.device, "head_scores", {p.words, p.rows}, Values<K, T>{kernel_of<K>(of), p, out});
}

template <class K, class T>
void running(const HeadScore& of, const ComponentRun<T>& p, RunningSum<T>* out) {
  launch(of.device, "head_scores", running_kernel<K, T>,
         dim3(blocks_of(p.rows, kWarp), blocks_of(p.words, kSplitWords)), dim3(kWarp, kWarps),
         kWarps * kWarp * sizeof(RunningSum<T>), kernel_of<K>(of), p, out);
}

template <class K, class T>
constexpr HeadLaunches<T> kLaunches{values<K, T>,     running<K, T>,       slopes<K, T>,
                                    word_stats<K, T>, row_stats<K, T>,     stats_backward<K, T>,
                                    exact<K, T>,      target_slopes<K, T>, exact_slopes<K, T>,
                                    numbers<K, T>,    exact_numbers<K, T>};

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
