// The common part of all optimisers, and the choice of an optimiser by name. Their classes are in
// optimizer.cpp.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "core/ops.h"
#include "nn/parameters.h"
#include "nn/training/low_rank.h"

namespace nine {

class Communicator;
class SlabShares;

/// The rules of updates; core/ops.h has the formulas. sgd, adam and adamw are torch.optim's. asgd
/// is sgd that also keeps the mean of the weights (Merity et al., 2018). lion is Chen et al.'s rule
/// (2023); muon is Jordan et al.'s (2024) for matrices, and adamw for the other weights.
enum class OptimizerKind : uint8_t { sgd, adam, adamw, asgd, lion, muon };
template <>
inline constexpr EnumNames<OptimizerKind, 6> kEnumNames<OptimizerKind>{
    "optimizer",
    {{{OptimizerKind::sgd, "sgd"},
      {OptimizerKind::adam, "adam"},
      {OptimizerKind::adamw, "adamw"},
      {OptimizerKind::asgd, "asgd"},
      {OptimizerKind::lion, "lion"},
      {OptimizerKind::muon, "muon"}}}};

/// Parameters with settings of their own. A parameter belongs to the first group that has a pattern
/// of its name; in a pattern, * stands for any characters and ? for one character.
///
///   {.patterns = {"*.bias", "norm*"}, .weight_decay = 0.0}
struct ParameterGroup {
  std::vector<std::string> patterns;
  double lr_factor = 1;  ///< the group's learning rate is lr_factor * the rate given to step()
  std::optional<double> weight_decay = std::nullopt;  ///< in place of OptimizerConfig's
};

/// The kind of an optimiser and its settings. The learning rate comes from a Schedule.
struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::adam;
  double momentum = 0;  ///< sgd, asgd, muon
  /// adam, adamw, muon: decay of the averages of the two moments. lion: beta1 and beta2 in the
  /// formula of ops::LionStep; the paper's values are 0.9 and 0.99.
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;  ///< adam, adamw, muon: added to the root of the second moment
  /// adam: in row-tracking parameters (Parameter::touched), updates only the rows that have a
  /// gradient in this update, as torch.optim.SparseAdam. The values and moments of other rows stay.
  /// Requires weight_decay 0.
  bool lazy = false;
  /// Adds weight_decay * w to the gradient of the weights w. adamw, lion and muon instead subtract
  /// lr * weight_decay * w from the weights.
  double weight_decay = 0;
  /// Parameters with another rate or weight decay. Parameters of no group have the settings above.
  std::vector<ParameterGroup> groups = {};
  /// asgd: number of updates before averaging begins; kNotYet: until start_averaging().
  int64_t average_from = 0;
  static constexpr int64_t kNotYet = std::numeric_limits<int64_t>::max();
  /// Low-rank updates of some matrices; all other parameters are then frozen. The optimiser holds
  /// the state of the factors A and B alone, and clips their gradient.
  LowRankConfig low_rank = {};
  /// Connects the processes of a distributed run: each keeps the state of its share of the
  /// parameters, updates the share and sends its values to the others. null: one process, the only
  /// choice with the installed headers.
  Communicator* communicator = nullptr;
};

/// Changes a model's parameters by their gradients. Values, gradients and the optimiser's state are
/// slabs of one layout, so an update is one pass. With several processes, each has a share of that
/// layout, and all processes call the functions below in the same order.
class Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Makes one update from the gradient slab at learning rate `lr`. If clip > 0, scales the
  /// gradient to a norm of at most `clip`. norm_squared: the gradient's squared norm (float64
  /// scalar, ParameterSet::sum_squares), read only if clip > 0. In a loop of your own, call
  /// ParameterSet::zero_missing_grads() before and zero_grad() afterwards. TrainStep and
  /// SimpleTrainer do so.
  void step(double lr, const View& norm_squared, double clip);
  /// Returns the number of updates so far.
  int64_t updates() const { return updates_; }

  /// asgd: returns the number of updates before averaging begins. Others: returns 0.
  virtual int64_t average_from() const { return 0; }
  /// asgd: begins averaging with the next update. Others: does nothing.
  virtual void start_averaging() {}
  /// asgd: exchanges the parameters' values and their average. Call it before an evaluation, which
  /// needs the average, and again afterwards. Others: does nothing.
  virtual void swap_average() {}

  /// Returns the state for a checkpoint, by parameter name: "adam.m.lstm.weight_ih_l0", ... Only
  /// for runs of one process; see gather().
  virtual std::vector<NamedView> named() const;
  /// Returns the state of all processes, gathered in rank 0's memory until release_gathered().
  /// Returns an empty list in the other processes.
  virtual std::vector<NamedView> gather();
  void release_gathered() { gathered_.clear(); }
  /// Restores the state from `file`, and sets updates() and average_from() to the arguments. With
  /// several processes, uses rank 0's file. Error: a tensor is missing or has another shape.
  virtual void load(const Safetensors& file, int64_t updates, int64_t average_from);
  /// True if a checkpoint's tensor of that name belongs to this optimiser.
  virtual bool owns(const std::string& name) const;
  /// Returns the number of slabs of the parameters' size that the state has; 0 with low-rank
  /// updates.
  int64_t slab_count() const { return static_cast<int64_t>(slabs_.size()); }

 protected:
  /// `shared`: processes share out state and updates; otherwise each has all state, and makes the
  /// whole update.
  Optimizer(ParameterSet& set, const OptimizerConfig& config, bool shared = true);

  /// Neighbouring elements of this process's share with one rate and one weight decay.
  struct Range {
    int64_t begin, end;
    double lr_factor, weight_decay;

    /// Returns this part of a share, or the share itself if it is all of it.
    View of(const View& share) const;
  };
  /// Returns the ranges of this process's share, in order. Without groups there is a single one.
  const std::vector<Range>& ranges() const { return ranges_; }
  /// Returns the factor of the rate and the weight decay of parameter number i of the set.
  const Range& settings(size_t i) const { return settings_[i]; }

  /// Changes this process's share of the values. updates() already includes this update.
  virtual void update(double lr, const ops::Clip& clip) = 0;
  virtual void set_average_from(int64_t /*updates*/) {}

  ParameterSet& set() const { return set_; }
  /// Return this process's share of the parameters' values and gradients as vectors; with one
  /// process, the whole slabs.
  View values() const { return share(set_.values()); }
  View gradients() const { return share(set_.gradients()); }
  /// Returns where the share begins in a slab, in elements.
  int64_t share_begin() const;
  /// Returns a vector of zeros with the share's size.
  Tensor new_state() const;
  /// Sends the values to all processes, after each process changed its share.
  void hand_out_values() const;
  /// Makes `slab`, of the share's size, part of the state and returns it. Checkpoints hold each
  /// parameter's part as `prefix` + its name.
  Tensor add_slab(const std::string& prefix, const Tensor& slab);

 private:
  struct Slab {
    std::string prefix;
    Tensor slab;
  };

  View share(const Tensor& slab) const;

  ParameterSet& set_;
  Communicator& communicator_;
  std::unique_ptr<SlabShares> shares_;  // null with one process
  std::vector<Slab> slabs_;             // in the order of the checkpoint's file
  std::vector<Tensor> gathered_;
  std::vector<Range> settings_;  // of each parameter: its place in a slab and its settings
  std::vector<Range> ranges_;
  int64_t updates_ = 0;
};

/// Makes the optimiser that `config` names. `set` must have ParameterOptions::gradients and outlive
/// the optimiser. Errors: those of LowRankUpdates; low-rank updates with several processes or with
/// groups; `lazy` with a kind other than adam, with weight decay, with groups or with low-rank
/// updates; muon without a momentum. UsageError: a group's pattern matches no parameter.
std::unique_ptr<Optimizer> make_optimizer(ParameterSet& set, const OptimizerConfig& config);

}  // namespace nine
