// Normalisation of groups of channels.
#pragma once

#include <string>

#include "autograd/image_functions.h"
#include "nn/parameters.h"

namespace nine {

/// Computes (x - mean) / sqrt(variance + eps) * weight + bias, where mean and variance are those of
/// a group of channels of one example (Wu & He, 2018), as torch.nn.GroupNorm: `NAME.weight`
/// (channels) starts at 1 and `NAME.bias` at 0. groups = channels is instance norm.
class GroupNorm {
 public:
  /// Error, at the first call: `groups` does not divide `channels`.
  GroupNorm(ParameterSet& set, const std::string& name, int64_t groups, int64_t channels,
            double eps = 1e-5)
      : groups_(groups),
        eps_(eps),
        weight_(set.add(name + ".weight", {channels}, Init::ones())),
        bias_(set.add(name + ".bias", {channels}, Init::zeros())) {}

  /// Normalises x (N, channels, ...); returns the same shape.
  Var operator()(const Var& x) const {
    return group_norm(x, groups_, x.tape().parameter(weight_), x.tape().parameter(bias_), eps_);
  }

 private:
  int64_t groups_;
  double eps_;
  Parameter &weight_, &bias_;
};

}  // namespace nine
