// Adam that leaves the rows of tables alone which had no gradient.
#pragma once

#include <algorithm>
#include <vector>

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
    const std::vector<GradientPart> parts = set().gradient_parts();
    if (values().elements() < set().values().elements()) return update_share(parts, lr, clip);
    for (const GradientPart& part : parts) {
      const View w = part.of(set().values()), g = part.of(set().gradients()),
                 m = part.of(first_moment()), v = part.of(second_moment());
      if (part.rows) {
        ops::adam_rows(w, g, m, v, part.rows, clip, numbers(lr));
      } else {
        ops::adam(w, g, m, v, clip, numbers(lr));
      }
    }
  }

 private:
  // The same where this process has a share of the slabs, which may begin and end within a row.
  void update_share(const std::vector<GradientPart>& parts, double lr, const ops::Clip& clip) {
    const auto update_range = [&](int64_t begin, int64_t end) {
      const int64_t from = std::max<int64_t>(0, begin - share_begin()),
                    to = std::min(values().elements(), end - share_begin());
      if (from >= to) return;
      const auto part = [&](const View& all) {
        return all.reshaped({all.elements(), 1}).row_range(from, to - from).reshaped({to - from});
      };
      ops::adam(part(values()), part(gradients()), part(first_moment()), part(second_moment()),
                clip, numbers(lr));
    };
    for (const GradientPart& part : parts) {
      if (!part.rows) {
        update_range(part.first, part.first + part.shape.elements());
        continue;
      }
      for (int64_t i = 0; i < part.rows.elements(); ++i) {
        const int64_t begin = part.first + part.rows.data<int32_t>()[i] * part.shape.cols();
        update_range(begin, begin + part.shape.cols());
      }
    }
  }
};

}  // namespace nine
