// Adam with decoupled weight decay.
#pragma once

#include "nn/training/optimizers/adam.h"

namespace nine {

/// Adam with w -= lr * weight_decay * w beside its update (Loshchilov & Hutter, 2019), as
/// torch.optim.AdamW. Checkpoints are Adam's.
class AdamW : public Adam {
 public:
  AdamW(ParameterSet& set, const OptimizerConfig& config) : Adam(set, config, true) {}
};

}  // namespace nine
