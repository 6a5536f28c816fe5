// What is added up in training and evaluation: loss, norms, and mean and variance of a mixture's
// component weights (pi_mean and pi_var in a run's log).
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/safetensors.h"
#include "kernels/settings/head.h"

namespace nine {

class SoftmaxHead;
struct StepStatistic;

/// Sums of a mixture's component weights and of their squares over the rows added.
class MixtureWeightStats {
 public:
  MixtureWeightStats() = default;
  /// The sums are on `device`, so that those of rows there are formed without waiting for it.
  explicit MixtureWeightStats(int64_t components, Device device = kCpu)
      : sums_({2 * components + 1}, DType::float64, device) {}
  /// For the components of a mixture; without components for any other head.
  static MixtureWeightStats of(const HeadSpec& head, Device device = kCpu) {
    return head.mixture ? MixtureWeightStats(head.size(), device) : MixtureWeightStats();
  }

  /// Whether any rows were added.
  explicit operator bool() const { return sums_ && sums_.to_vector()[0] > 0; }
  /// Adds the rows that have a target: log_prior (N, K), float32 or float64, on any device if the
  /// sums are on the CPU, else on theirs; targets N int32 on the CPU, -1: none.
  void add(const Tensor& log_prior, const Tensor& targets) { add(log_prior, targets, 0, 1); }
  /// Rows first, first + step, first + 2 step, ... of them.
  void add(const Tensor& log_prior, const Tensor& targets, int64_t first, int64_t step);
  /// Adds another one's sums, of as many components; both are on the CPU.
  void add(const MixtureWeightStats& other);
  /// For as many components, without rows.
  MixtureWeightStats zeros() const {
    return sums_ ? MixtureWeightStats(sums_.elements() / 2, sums_.device()) : MixtureWeightStats();
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
  void add_on_device(const Tensor& log_prior, const std::vector<double>& counted);

  Tensor sums_;
  Tensor terms_, counted_;  // of add_on_device: (N, 2K + 1) and (1, N), kept from step to step
};

/// Loss and, for translations, BLEU of a model on a text.
struct Evaluation {
  double nats = 0;                          ///< -log p of all predicted tokens together
  int64_t tokens = 0;                       ///< predicted
  MixtureWeightStats mixture_weights = {};  ///< of a mixture's components
  std::optional<double> bleu;               ///< of translations, in [0, 100]

  double nll() const { return nats / static_cast<double>(tokens); }  ///< nats per predicted token
  double ppl() const { return std::exp(nll()); }
};

/// Sums of a mixture's weights (where there are any) and of contexts' norms, and the largest
/// context of training.
void add_head_statistics(const SoftmaxHead& head, const MixtureWeightStats& weights,
                         std::vector<StepStatistic>& out);

}  // namespace nine
