// The norms that a HeadDecoder gives word vectors and contexts (kernels/options/head_norms.h), as
// evaluation does.
#pragma once

#include <vector>

#include "kernels/options/angle.h"
#include "kernels/options/head_norms.h"
#include "kernels/settings/head.h"

namespace nine {

class DecoderNorms {
 public:
  /// Neither.
  DecoderNorms() = default;
  /// Of a head's inner products. Error: the head has another kernel; not one norm a component.
  DecoderNorms(const HeadNorms& norms, const HeadSpec& head);

  bool words() const { return static_cast<bool>(ratios_); }
  bool contexts() const { return !sizes_.empty(); }
  /// (V, 2) float64: the statistics of scaled_lin (ops::word_scales) of word vectors (V, d). Error:
  /// not one ratio a word.
  Tensor word_scales(const View& w) const;
  /// Gives a context of component k its norm.
  template <class T>
  void set_norm(int64_t k, T* h, int64_t d) const {
    const double norm = scores::norm(h, d);
    const double factor = norm > 0 ? sizes_[static_cast<size_t>(k)] / norm : 0;
    for (int64_t i = 0; i < d; ++i) h[i] = scores::scaled(factor, h[i]);
  }
  /// The score of a word, given its scales, and a context of component k that has its norm.
  template <class T>
  double score(int64_t k, const Tensor& scales, int64_t word, const T* w, const T* h,
               int64_t d) const {
    const scores::AnglePair<T> pair(w, h, d,
                                    {words() ? scales.data<double>() + 2 * word + 1 : nullptr,
                                     contexts() ? &sizes_[static_cast<size_t>(k)] : nullptr});
    return pair.score({pair.cosine, 1});
  }

 private:
  Tensor ratios_;  // on the CPU; empty: own norms
  int64_t first_word_ = -1;
  std::vector<double> sizes_;  // HeadNorms::sizes
};

}  // namespace nine
