// Sums over rows in training and evaluation: loss, norms, and the mean and variance of a mixture's
// component weights (pi_mean and pi_var in a run's log).
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <vector>

#include "core/json.h"
#include "core/safetensors.h"
#include "data/corpus.h"
#include "kernels/settings/head.h"

namespace nine {

class SoftmaxHead;
struct StepStatistic;

/// Accumulates a mixture's component weights and their squares over rows.
class MixtureWeightStats {
 public:
  MixtureWeightStats() = default;
  /// Puts the sums on `device`, so that adding rows there does not wait for the device.
  explicit MixtureWeightStats(int64_t components, Device device = kCpu)
      : sums_({2 * components + 1}, DType::float64, device) {}
  /// Makes statistics for a mixture's components; statistics without components for any other head.
  static MixtureWeightStats of(const HeadSpec& head, Device device = kCpu) {
    return head.mixture ? MixtureWeightStats(head.size(), device) : MixtureWeightStats();
  }

  /// True if rows were added.
  explicit operator bool() const { return sums_ && sums_.to_vector()[0] > 0; }
  /// Adds the rows that have a target. log_prior: (N, K), float32 or float64, on any device if the
  /// sums are on the CPU, else on the sums' device. targets: N int32 on the CPU, -1: no target.
  void add(const Tensor& log_prior, const Tensor& targets) { add(log_prior, targets, 0, 1); }
  /// Adds only the rows first, first + step, first + 2 step, ...
  void add(const Tensor& log_prior, const Tensor& targets, int64_t first, int64_t step);
  /// Adds the sums of another object with the same number of components. Both must be on the CPU.
  void add(const MixtureWeightStats& other);
  /// Returns statistics for the same number of components, without rows.
  MixtureWeightStats zeros() const {
    return sums_ ? MixtureWeightStats(sums_.elements() / 2, sums_.device()) : MixtureWeightStats();
  }
  void clear();
  /// Return mean and variance of each component's weight over the rows. The variance divides by the
  /// number of rows.
  std::vector<double> mean() const;
  std::vector<double> variance() const;
  /// Returns (2K + 1) float64: number of rows, sums of pi, sums of pi^2. Empty without components.
  const Tensor& sums() const { return sums_; }
  /// Returns the sums for a checkpoint, as `prior.sums`; an empty list without components. load()
  /// restores them.
  std::vector<NamedView> named() const;
  void load(const Safetensors& file);

 private:
  void add_on_device(const Tensor& log_prior, const std::vector<double>& counted);

  Tensor sums_;
  // Buffers of add_on_device, (N, 2K + 1) and (1, N), kept from step to step.
  Tensor terms_, counted_;
};

/// The loss of a model on a text, and for translations BLEU.
struct Evaluation {
  double nats = 0;                          ///< -log p of all predicted tokens together
  int64_t tokens = 0;                       ///< number of predicted tokens
  MixtureWeightStats mixture_weights = {};  ///< of a mixture's components
  std::optional<double> bleu;               ///< of translations, in [0, 100]
  int64_t words = 0, bytes = 0;             ///< of a raw text; 0 for a text of words

  double nll() const { return nats / static_cast<double>(tokens); }  ///< nats per predicted token
  double ppl() const { return std::exp(nll()); }
  /// Adds the figures of a raw text to an event of the log; nothing for a text of words.
  void add_raw_figures(Json& event) const;
  void set_raw_size(RawSize size) { words = size.words, bytes = size.bytes; }
  /// Return the nats per word and the bits per byte of a raw text.
  double word_nll() const { return nats / static_cast<double>(words); }
  double bits_per_byte() const { return nats / static_cast<double>(bytes) / std::numbers::ln2; }
};

/// Appends to `out` the sums of a mixture's weights (if any), of contexts' norms and of the
/// gradients that the head leaves out, and the largest context of training.
void add_head_statistics(const SoftmaxHead& head, const MixtureWeightStats& weights,
                         std::vector<StepStatistic>& out);

/// Returns the head's sums for a checkpoint: those of contexts' norms, and `head_skip.sums`, of the
/// gradients that it leaves out. load_head_sums() restores them.
std::vector<NamedView> head_sums(const SoftmaxHead& head);
void load_head_sums(const SoftmaxHead& head, const Safetensors& file);

}  // namespace nine
