// Gradients with respect to a score's learned numbers, for
// kernels/scores/cuda/head_kernels_impl.cuh.
#pragma once

#include "cuda/reduce.cuh"
#include "kernels/scores/cuda/head_vectors.cuh"

namespace nine::cuda {
namespace {

template <class K>
concept LearnsParameters = requires(const K& k, const double* s) {
  k.parameter_slope(0, 1.0, s, s);
};

// Returns up dS/d(number) of element i, in the order word after word.
template <class K, class T>
struct NumberGradient {
  K k;
  ComponentRun<T> p;
  int number;
  const T* up;  // [word of the run][padded]

  NINE_D double operator()(int64_t i) const {
    const int64_t v = i / p.rows, r = i % p.rows;
    const T g = up[v * p.padded + r];
    if (g == T(0)) return 0;  // 0 for targets, for any slope
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
                  share = k.mixture
                              ? vexp(scores::value_at<ApproximateMath>(k.part, z, w.s, own.s) - all)
                              : T(1);
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
// Returns the same for row r's target; a warp computes it.
template <class K, class T>
struct ExactNumberGradient {
  K k;
  double scale;
  TargetPairs<T> pairs;
  int number;
  const double* up;
  NINE_D double operator()(int64_t r) const {
    if (!pairs.counts(r) || up[r] == 0) return 0;
    const int64_t d = pairs.d;
    const InWarp<T>*word = pairs.word(r, pairs.target(r)), *context = pairs.context(r);
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
void numbers(const HeadScore& of, const ComponentRun<T>& p, const T* up, double* out) {
  for (int i = 0; i < kMaxScoreNumbers; ++i)
    if (of.score.learns(i))
      sum_of(of.device, "head_gradients", p.words * p.rows,
             NumberGradient<K, T>{kernel_of<K>(of), p, i, up}, PutSum<double>{out++, true});
}
template <class K, class T>
void exact_numbers(const HeadScore& of, const TargetRows<T>& rows, const double* up, double* out) {
  for (int i = 0; i < kMaxScoreNumbers; ++i)
    if (of.score.learns(i))
      sum_of_vectors(
          of.device, "head_gradients", rows.pairs(),
          ExactNumberGradient<K, T>{kernel_of<K>(of), of.score.scale, {rows, of.d}, i, up},
          PutSum<double>{out++, true});
}

}  // namespace
}  // namespace nine::cuda
