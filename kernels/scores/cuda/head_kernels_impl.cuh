// Defines the CUDA kernels of kernels/scores/cuda/head_kernels.cuh over every score struct. One .cu
// file for each float type includes this file, so that the two compile in parallel.
#pragma once

#include "kernels/scores/cuda/head_numbers.cuh"
#include "kernels/scores/cuda/head_running.cuh"
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

template <class K, class T>
void values(const HeadScore& of, const ComponentRun<T>& p, T* out) {
  each(of.device, "head_scores", {p.words, p.rows}, Values<K, T>{kernel_of<K>(of), p, out});
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
