// Stochastic gradient descent whose averaged weights are evaluated.
#pragma once

#include "nn/training/optimizers/sgd.h"

namespace nine {

/// Sgd that also keeps the mean of the weights after each update since averaging began (Polyak &
/// Juditsky, 1992; as the ASGD of Merity et al., 2018). Until then the mean is the last weights.
/// Checkpoints hold it as "asgd.average.NAME".
class AveragedSgd : public Sgd {
 public:
  AveragedSgd(ParameterSet& set, const OptimizerConfig& config)
      : Sgd(set, config),
        average_from_(config.average_from),
        average_(add_slab("asgd.average.", new_state())) {
    copy(values(), average_);
  }

  int64_t average_from() const override { return average_from_; }
  void start_averaging() override { average_from_ = updates(); }
  void swap_average() override {
    const Tensor before = new_state();
    copy(values(), before);
    copy(average_, values());
    copy(before, average_);
    hand_out_values();
  }

 protected:
  void update(double lr, const ops::Clip& clip) override {
    Sgd::update(lr, clip);
    if (updates() <= average_from_) {
      ops::copy(values(), average_);
    } else {
      ops::average(average_, values(), 1.0 / static_cast<double>(updates() - average_from_));
    }
  }
  void set_average_from(int64_t updates) override { average_from_ = updates; }

 private:
  // A share may be empty.
  static void copy(const View& from, const View& to) {
    if (from.elements() > 0) ops::copy(from, to);
  }

  int64_t average_from_;
  Tensor average_;
};

}  // namespace nine
