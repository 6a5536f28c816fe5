// Applies in decoding the word norm and the context norm of evaluation
// (kernels/options/head_norms.h).
#pragma once

#include <vector>

#include "kernels/options/angle.h"
#include "kernels/options/head_norms.h"
#include "kernels/settings/head.h"

namespace nine {

class DecoderNorms {
 public:
  /// Changes no norms.
  DecoderNorms() = default;
  /// Takes the norms of a head of inner products. Errors: the head has another kernel; not one
  /// context norm for each component.
  DecoderNorms(const HeadNorms& norms, const HeadSpec& head);

  bool words() const { return static_cast<bool>(ratios_); }
  bool contexts() const { return !sizes_.empty(); }
  /// Returns the statistics of scaled_lin (ops::word_scales) of the word vectors w (V, d): (V, 2)
  /// float64. Error: not one ratio for each word.
  Tensor word_scales(const View& w) const;
  /// Scales a context of component k to its norm.
  template <class T>
  void set_norm(int64_t k, T* h, int64_t d) const {
    const double norm = scores::norm(h, d);
    const double factor = norm > 0 ? sizes_[static_cast<size_t>(k)] / norm : 0;
    for (int64_t i = 0; i < d; ++i) h[i] = scores::scaled(factor, h[i]);
  }
  /// Returns the score of a word and a context of component k. `scales` are the word's scales; the
  /// context must have its norm.
  template <class T>
  double score(int64_t k, const Tensor& scales, int64_t word, const T* w, const T* h,
               int64_t d) const {
    const scores::AnglePair<T> pair(w, h, d,
                                    {words() ? scales.data<double>() + 2 * word + 1 : nullptr,
                                     contexts() ? &sizes_[static_cast<size_t>(k)] : nullptr});
    return pair.score({pair.cosine, 1});
  }

 private:
  Tensor ratios_;  // on the CPU; empty if words keep their norms
  int64_t first_word_ = -1;
  std::vector<double> sizes_;  // HeadNorms::sizes
};

}  // namespace nine
