// The norms that a HeadDecoder gives word vectors and contexts (kernels/options/head_norms.h). They
// are those of evaluation.
#pragma once

#include <vector>

#include "kernels/options/angle.h"
#include "kernels/options/head_norms.h"
#include "kernels/settings/head.h"

namespace nine {

class DecoderNorms {
 public:
  /// Word vectors and contexts keep their own norms.
  DecoderNorms() = default;
  /// For a head of inner products. Errors: the head has another kernel; the number of norms is not
  /// the number of components.
  DecoderNorms(const HeadNorms& norms, const HeadSpec& head);

  bool words() const { return static_cast<bool>(ratios_); }
  bool contexts() const { return !context_norms_.empty(); }
  /// Returns (V, 2) float64: the statistics of scaled_lin (ops::word_scales) for word vectors (V,
  /// d). Error: the number of ratios is not V.
  Tensor word_scales(const View& w) const;
  /// Scales a context of component k to its norm.
  template <class T>
  void set_context_norm(int64_t k, T* h, int64_t d) const {
    const double norm = scores::norm(h, d);
    const double factor = norm > 0 ? context_norms_[static_cast<size_t>(k)] / norm : 0;
    for (int64_t i = 0; i < d; ++i) h[i] = scores::scaled(factor, h[i]);
  }
  /// Returns the score of a word, given its scales, and a context of component k that
  /// set_context_norm() has scaled.
  template <class T>
  double score(int64_t k, const Tensor& scales, int64_t word, const T* w, const T* h,
               int64_t d) const {
    const double* f = words() ? scales.data<double>() + 2 * word + 1 : nullptr;
    const double* g = contexts() ? &context_norms_[static_cast<size_t>(k)] : nullptr;
    const scores::AnglePair<T> pair(w, h, d, f, g);
    return pair.score({pair.cosine, 1});
  }

 private:
  Tensor ratios_;  // on the CPU; empty: words keep their own norms
  int64_t first_word_ = -1;
  std::vector<double> context_norms_;  // per component; empty: contexts keep their own norms
};

}  // namespace nine
