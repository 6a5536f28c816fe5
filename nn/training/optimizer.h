// Optimisers over a model's slabs: one pass each.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "core/ops.h"
#include "nn/parameters.h"

namespace nine {

/// sgd; adam (Kingma & Ba, 2015); adamw (Loshchilov & Hutter, 2019); asgd: sgd whose averaged
/// weights are evaluated.
enum class OptimizerKind : uint8_t { sgd, adam, adamw, asgd };
template <>
inline constexpr EnumNames<OptimizerKind, 4> kEnumNames<OptimizerKind>{
    "optimizer",
    {{{OptimizerKind::sgd, "sgd"},
      {OptimizerKind::adam, "adam"},
      {OptimizerKind::adamw, "adamw"},
      {OptimizerKind::asgd, "asgd"}}}};

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::adam;
  double momentum = 0;                ///< sgd, asgd
  double beta1 = 0.9, beta2 = 0.999;  ///< adam, adamw
  double eps = 1e-8;                  ///< adam, adamw: added outside of the root
  double weight_decay = 0;            ///< added to the gradient; adamw: decoupled
  /// asgd: updates before averaging begins; kNotYet: until start_averaging()
  int64_t average_from = 0;
  static constexpr int64_t kNotYet = std::numeric_limits<int64_t>::max();
};

class Optimizer {
 public:
  /// `set` must be allocated with gradients and outlive the optimiser.
  Optimizer(ParameterSet& set, const OptimizerConfig& config);

  /// One update from the gradient slab. norm_squared: its squared norm (float64 scalar), used when
  /// clip > 0.
  void step(double lr, const View& norm_squared, double clip);

  int64_t updates() const { return updates_; }
  /// Updates before averaging begins.
  int64_t average_from() const { return config_.average_from; }
  /// asgd: averaging begins with the next update.
  void start_averaging() { config_.average_from = updates_; }

  /// asgd evaluates the average of the weights: swaps it in for the values, and back with a second
  /// call. Others: nothing.
  void swap_average();
  bool averages() const { return config_.kind == OptimizerKind::asgd; }

  /// State for a checkpoint: moments by parameter name ("adam.m.lstm.weight_ih_l0", ...).
  std::vector<NamedView> named() const;
  void load(const Safetensors& file, int64_t updates, int64_t average_from);
  /// Slabs of the parameters' size that it has.
  int64_t slab_count() const { return static_cast<int64_t>(slabs().size()); }

 private:
  struct Slab {
    std::string prefix;
    Tensor slab;
  };
  std::vector<Slab> slabs() const;

  ParameterSet& set_;
  OptimizerConfig config_;
  Tensor first_, second_;  // Adam's moments; SGD's velocity in first_
  Tensor average_;
  int64_t updates_ = 0;
};

}  // namespace nine
