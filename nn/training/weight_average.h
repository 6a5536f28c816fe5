// A running mean of a model's weights.
#pragma once

#include <string>
#include <vector>

#include "nn/parameters.h"

namespace nine {

/// Keeps the exponential moving average of all parameters (Polyak & Juditsky, 1992): after update
/// number t, average = d average + (1 - d) values with d = min(decay, (1 + t) / (10 + t)), so that
/// the first weights are soon forgotten. Buffers are not averaged.
///
///   WeightAverage average(model.parameters, 0.999);
///   ... trainer.step(...); average.update(); ...
///   average.swap();  // the model has the average; another swap() restores the weights
class WeightAverage {
 public:
  /// Begins with the values. `set` must outlive the object. Error: decay outside of [0, 1).
  explicit WeightAverage(ParameterSet& set, double decay = 0.999);

  /// Moves the average towards the values; call it after each update. Error: between two swap().
  void update();
  /// Exchanges the average and the parameters' values.
  void swap();
  /// True if the parameters have the average.
  bool swapped() const { return swapped_; }
  int64_t updates() const { return updates_; }

  /// Returns the average for a file, by parameter name: "average.conv.weight", ...
  std::vector<NamedView> named() const { return set_.named(average_, kPrefix); }
  /// Restores the average from `file`, and sets updates() to the argument. Call it while swapped()
  /// is false: otherwise the file's average replaces the weights that swap() keeps. Error: a tensor
  /// is missing or has another shape.
  void load(const Safetensors& file, int64_t updates);

 private:
  static constexpr const char* kPrefix = "average.";
  ParameterSet& set_;
  double decay_;
  Tensor average_;
  int64_t updates_ = 0;
  bool swapped_ = false;
};

}  // namespace nine
