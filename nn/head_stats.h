// What a head sees of its contexts: the mean norm in training, and angles to the targets in
// evaluation. Both are in a run's log and report (docs/report.md).
#pragma once

#include <cstdint>
#include <vector>

#include "core/safetensors.h"

namespace nine {

/// Sums over the rows that have a target.
class HeadStats {
 public:
  static constexpr int64_t kBins = 45;  ///< of angles, 4 degrees each

  /// hidden (N, d) on any device, targets N int32 on the CPU, -1: none. Error: not one for each
  /// row.
  void add_norms(const Tensor& hidden, const Tensor& targets);
  /// The same with the word vectors (V, d), where angles are being counted; a vector of length 0
  /// has an angle of 90 degrees. Errors: also, none are being counted; a target is no word.
  void add_angles(const Tensor& hidden, const Tensor& targets, const Tensor& words);

  /// The mean of ||h|| since clear_norms(); 0 without rows.
  double mean_norm() const;
  void clear_norms();
  /// (2) float64: rows, and the sum of their norms.
  const Tensor& norm_sums() const { return sums_; }
  /// From now on evaluations count angles, from zero; or no more.
  void count_angles(bool on);
  bool counts_angles() const { return !angles_.empty(); }
  /// Rows whose angle is in each bin.
  const std::vector<int64_t>& angles() const { return angles_; }

  /// For checkpoints: the sums of the norms as `context.norm_sums`; and back.
  std::vector<NamedView> named() const;
  void load(const Safetensors& file);

 private:
  Tensor sums_{{2}, DType::float64};  // rows, norms
  std::vector<int64_t> angles_;       // empty while none are counted
};

}  // namespace nine
