// Stochastic gradient descent, with or without momentum.
#pragma once

#include "nn/training/optimizer.h"

namespace nine {

/// g = clipped gradient + weight_decay * w; with momentum m: v = m v + g and w -= lr * v, else
/// w -= lr * g, as torch.optim.SGD. Checkpoints hold v as "sgd.velocity.NAME".
class Sgd : public Optimizer {
 public:
  Sgd(ParameterSet& set, const OptimizerConfig& config)
      : Optimizer(set, config.communicator),
        momentum_(config.momentum),
        weight_decay_(config.weight_decay) {
    if (momentum_ != 0) velocity_ = add_slab("sgd.velocity.", new_state());
  }

 protected:
  void update(double lr, const ops::Clip& clip) override {
    ops::sgd(values(), gradients(), velocity_ ? velocity_.view() : View{}, clip,
             {.lr = lr, .momentum = momentum_, .weight_decay = weight_decay_});
  }

 private:
  double momentum_, weight_decay_;
  Tensor velocity_;  // only with momentum
};

}  // namespace nine
