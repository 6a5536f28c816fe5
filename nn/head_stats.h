// Statistics of the contexts, the hidden vectors h that an output layer receives: their mean norm
// in training, and their angles to the targets' word vectors in evaluation. A run's log and report
// show both (docs/report.md).
#pragma once

#include <cstdint>
#include <vector>

#include "core/safetensors.h"

namespace nine {

/// Sums statistics over the rows that have a target.
class HeadStats {
 public:
  static constexpr int64_t kBins = 45;  ///< bins of angles, 4 degrees each

  /// Adds the norms of hidden (N, d), on any device. targets: N int32 on the CPU, -1: no target.
  /// Error: the number of targets is not N.
  void add_norms(const Tensor& hidden, const Tensor& targets);
  /// Counts the angles between contexts and their targets' vectors in `words` (V, d), in bins of 4
  /// degrees; targets as in add_norms(). A vector of length 0 has an angle of 90 degrees. Errors:
  /// the number of targets is not N; count_angles(true) was not called; a target is V or more.
  void add_angles(const Tensor& hidden, const Tensor& targets, const Tensor& words);

  /// Returns the mean of ||h|| since clear_norms(); 0 without rows.
  double mean_norm() const;
  void clear_norms();
  /// Returns (2) float64: the number of rows and the sum of their norms.
  const Tensor& norm_sums() const { return sums_; }
  /// Starts to count angles, from zero, or stops.
  void count_angles(bool on);
  bool counts_angles() const { return !angles_.empty(); }
  /// Returns the number of rows in each bin of angles.
  const std::vector<int64_t>& angles() const { return angles_; }

  /// Returns the sums of the norms for a checkpoint, as `context.norm_sums`. load() restores them;
  /// a file without them changes nothing. Error of load(): another shape.
  std::vector<NamedView> named() const;
  void load(const Safetensors& file);

 private:
  Tensor sums_{{2}, DType::float64};  // rows, sum of norms
  std::vector<int64_t> angles_;       // empty while angles are not counted
};

}  // namespace nine
