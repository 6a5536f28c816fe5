// What a mixture's prior does on average: the numbers behind pi_mean and pi_var in a run's log.
#pragma once

#include <vector>

#include "core/safetensors.h"

namespace nine {

class MixtureWeightStats {
 public:
  MixtureWeightStats() = default;
  explicit MixtureWeightStats(int64_t components) : sums_({2 * components + 1}, DType::float64) {}

  explicit operator bool() const { return sums_ && rows() > 0; }
  /// Takes in the rows with a target: log_prior (N, K), float32 or float64, targets N int32, the
  /// prior on any device, the targets on the CPU.
  void add(const Tensor& log_prior, const Tensor& targets);
  void clear();
  std::vector<double> mean() const;  ///< of each component over the rows
  std::vector<double> variance()
      const;  ///< of each component over the rows, dividing by their number
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
