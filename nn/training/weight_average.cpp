#include "nn/training/weight_average.h"

#include <algorithm>

#include "core/ops.h"

namespace nine {

WeightAverage::WeightAverage(ParameterSet& set, double decay)
    : set_(set), decay_(decay), average_(set.values().clone()) {
  require(decay >= 0 && decay < 1, "a decay of ", decay,
          " is outside of [0, 1): choose one such as 0.999");
}

void WeightAverage::update() {
  require(!swapped_, "the parameters have the average: call swap() again before the next update");
  ++updates_;
  const auto t = static_cast<double>(updates_);
  ops::average(average_, set_.values(), 1 - std::min(decay_, (1 + t) / (10 + t)));
}

void WeightAverage::swap() {
  const Tensor before = set_.values().clone();
  ops::copy(average_, set_.values());
  ops::copy(before, average_);
  swapped_ = !swapped_;
}

void WeightAverage::load(const Safetensors& file, int64_t updates) {
  set_.load(file, average_, kPrefix);
  updates_ = updates;
}

}  // namespace nine
