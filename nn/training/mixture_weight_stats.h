// Mean and variance of a mixture's component weights: pi_mean and pi_var in a run's log.
#pragma once

#include <vector>

#include "core/safetensors.h"
#include "kernels/head.h"

namespace nine {

/// Sums of a mixture's component weights and of their squares over the rows added.
class MixtureWeightStats {
 public:
  MixtureWeightStats() = default;
  explicit MixtureWeightStats(int64_t components) : sums_({2 * components + 1}, DType::float64) {}
  /// For the components of a mixture; without components for any other head.
  static MixtureWeightStats of(const HeadSpec& head) {
    return head.mixture ? MixtureWeightStats(head.size()) : MixtureWeightStats();
  }

  /// Whether any rows were added.
  explicit operator bool() const { return sums_ && rows() > 0; }
  /// Adds the rows that have a target: log_prior (N, K), float32 or float64, on any device, targets
  /// N int32 on the CPU, -1: none.
  void add(const Tensor& log_prior, const Tensor& targets) { add(log_prior, targets, 0, 1); }
  /// Rows first, first + step, first + 2 step, ... of them.
  void add(const Tensor& log_prior, const Tensor& targets, int64_t first, int64_t step);
  /// Adds another one's sums, of as many components.
  void add(const MixtureWeightStats& other);
  /// For as many components, without rows.
  MixtureWeightStats zeros() const {
    return sums_ ? MixtureWeightStats(sums_.elements() / 2) : MixtureWeightStats();
  }
  void clear();
  /// Of each component's weight over the rows; the variance divides by their number.
  std::vector<double> mean() const;
  std::vector<double> variance() const;
  /// (2K + 1) float64: rows, sums of pi, sums of pi^2. Empty when there are no components.
  const Tensor& sums() const { return sums_; }
  /// For checkpoints: the sums as `prior.sums`, nothing where there are no components; and back.
  std::vector<NamedView> named() const;
  void load(const Safetensors& file);

 private:
  double rows() const { return sums_.data<double>()[0]; }
  Tensor sums_;
};

}  // namespace nine
