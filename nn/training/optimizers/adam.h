// Adam: SGD scaled by running averages of the gradient and its square.
#pragma once

#include "nn/training/optimizer.h"

namespace nine {

/// Adam (Kingma & Ba, 2015), as torch.optim.Adam: weight decay is added to the gradient.
/// Checkpoints hold the averages of gradient and squared gradient as "adam.m.NAME" and
/// "adam.v.NAME".
class Adam : public Optimizer {
 public:
  Adam(ParameterSet& set, const OptimizerConfig& config) : Adam(set, config, false) {}

 protected:
  /// decoupled: weight decay goes past the moments (AdamW).
  Adam(ParameterSet& set, const OptimizerConfig& config, bool decoupled)
      : Optimizer(set, config.communicator),
        config_(config),
        decoupled_(decoupled),
        first_moment_(add_slab("adam.m.", new_state())),
        second_moment_(add_slab("adam.v.", new_state())) {}

  void update(double lr, const ops::Clip& clip) override {
    ops::adam(values(), gradients(), first_moment_, second_moment_, clip, numbers(lr));
  }

  ops::AdamStep numbers(double lr) const {
    return {.lr = lr,
            .beta1 = config_.beta1,
            .beta2 = config_.beta2,
            .eps = config_.eps,
            .weight_decay = config_.weight_decay,
            .decoupled = decoupled_,
            .t = updates()};
  }
  const Tensor& first_moment() const { return first_moment_; }
  const Tensor& second_moment() const { return second_moment_; }

 private:
  OptimizerConfig config_;
  bool decoupled_;
  Tensor first_moment_, second_moment_;
};

}  // namespace nine
