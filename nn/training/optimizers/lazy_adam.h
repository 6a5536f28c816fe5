// Adam that leaves the rows of tables alone which had no gradient.
#pragma once

#include "nn/training/optimizers/adam.h"

namespace nine {

/// Adam, but of parameters that keep track of their rows (Parameter::touched) it updates those that
/// had a gradient in this update only, as torch.optim.SparseAdam: another row keeps its value and
/// both of its moments, which do not decay. The bias correction follows the number of all updates.
/// Checkpoints are Adam's.
class LazyAdam : public Adam {
 public:
  LazyAdam(ParameterSet& set, const OptimizerConfig& config) : Adam(set, config) {}

 protected:
  void update(double lr, const ops::Clip& clip) override {
    for (const GradientPart& part : set().gradient_parts()) {
      const View w = part.of(set().values()), g = part.of(set().gradients()),
                 m = part.of(first_moment()), v = part.of(second_moment());
      if (part.rows) {
        ops::adam_rows(w, g, m, v, part.rows, clip, numbers(lr));
      } else {
        ops::adam(w, g, m, v, clip, numbers(lr));
      }
    }
  }
};

}  // namespace nine
