// What all optimisers share, and the choice of one by name. Their classes are in optimizer.cpp.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "core/ops.h"
#include "nn/parameters.h"

namespace nine {

class Communicator;
class SlabShares;

enum class OptimizerKind : uint8_t { sgd, adam, adamw, asgd };
template <>
inline constexpr EnumNames<OptimizerKind, 4> kEnumNames<OptimizerKind>{
    "optimizer",
    {{{OptimizerKind::sgd, "sgd"},
      {OptimizerKind::adam, "adam"},
      {OptimizerKind::adamw, "adamw"},
      {OptimizerKind::asgd, "asgd"}}}};

/// The kind of an optimiser and its numbers; the learning rate comes from a Schedule.
struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::adam;
  double momentum = 0;                ///< sgd, asgd
  double beta1 = 0.9, beta2 = 0.999;  ///< adam, adamw: decay of the two moments' averages
  double eps = 1e-8;                  ///< adam, adamw: added to the root of the second moment
  /// adam: parameters that keep track of their rows (Parameter::touched) are updated in the rows
  /// that have had a gradient only. Without weight decay.
  bool lazy = false;
  double weight_decay = 0;  ///< times the weights, added to the gradient; adamw: decoupled
  /// asgd: updates before averaging begins; kNotYet: until start_averaging().
  int64_t average_from = 0;
  static constexpr int64_t kNotYet = std::numeric_limits<int64_t>::max();
  /// Of several processes each keeps the state of its share of the parameters (SlabShares), updates
  /// that and hands its values to the others; null: one process.
  Communicator* communicator = nullptr;
};

/// Changes a model's parameters by their gradients. Values, gradients and the optimiser's own
/// state are slabs of one layout, so that an update is one pass. Of several processes each has a
/// share of that layout, and all of them call the functions below in the same order.
class Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// One update from the gradient slab at learning rate `lr`. norm_squared: the gradient's squared
  /// norm (float64 scalar), used when clip > 0 to scale the gradient to a norm of at most `clip`.
  void step(double lr, const View& norm_squared, double clip);
  /// Updates made so far.
  int64_t updates() const { return updates_; }

  /// asgd: updates before averaging begins. Others: 0.
  virtual int64_t average_from() const { return 0; }
  /// asgd: averaging begins with the next update. Others: nothing.
  virtual void start_averaging() {}
  /// asgd, whose averaged weights are evaluated: exchanges the parameters' values and the average;
  /// a second call exchanges them back. Others: nothing.
  virtual void swap_average() {}

  /// State for a checkpoint, by parameter name: "adam.m.lstm.weight_ih_l0", ... Of one process.
  std::vector<NamedView> named() const;
  /// The same, gathered in rank 0's memory until release_gathered(); empty in the others.
  std::vector<NamedView> gather();
  void release_gathered() { gathered_.clear(); }
  /// Restores such a state and the two counters saved with it. Of several processes rank 0's file
  /// counts. Error: a tensor is missing or has another shape.
  void load(const Safetensors& file, int64_t updates, int64_t average_from);
  /// Whether a checkpoint's tensor of that name is this optimiser's.
  bool owns(const std::string& name) const;
  /// How many slabs of the parameters' size the state has.
  int64_t slab_count() const { return static_cast<int64_t>(slabs_.size()); }

 protected:
  Optimizer(ParameterSet& set, Communicator* communicator);

  /// Changes this process's share of the values. updates() includes this update.
  virtual void update(double lr, const ops::Clip& clip) = 0;
  virtual void set_average_from(int64_t /*updates*/) {}

  ParameterSet& set() const { return set_; }
  /// This process's share of the parameters' values and gradients: vectors, all of the slabs where
  /// there is one process.
  View values() const { return share(set_.values()); }
  View gradients() const { return share(set_.gradients()); }
  /// Where the share begins in a slab, in elements.
  int64_t share_begin() const;
  /// A vector of the share's size, of zeros.
  Tensor new_state() const;
  /// All values, in all processes, after each changed those of its share.
  void hand_out_values() const;
  /// Makes `slab`, of the share's size, part of the state: checkpoints hold each parameter's part
  /// as `prefix` + its name. Returns the slab.
  Tensor add_slab(const std::string& prefix, const Tensor& slab);

 private:
  struct Slab {
    std::string prefix;
    Tensor slab;
  };

  View share(const Tensor& slab) const;

  ParameterSet& set_;
  Communicator& communicator_;
  std::unique_ptr<SlabShares> shares_;  // of several processes
  std::vector<Slab> slabs_;             // in the order of the checkpoint's file
  std::vector<Tensor> gathered_;
  int64_t updates_ = 0;
};

/// The optimiser that `config` names. `set` must be allocated with gradients and outlive it. Error:
/// lazy, and another kind than adam or weight decay.
std::unique_ptr<Optimizer> make_optimizer(ParameterSet& set, const OptimizerConfig& config);

}  // namespace nine
