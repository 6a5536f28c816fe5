// Normalisation of rows to mean 0 and variance 1.
#pragma once

#include <string>

#include "autograd/functions.h"
#include "nn/parameters.h"

namespace nine {

/// Computes (x - mean) / sqrt(variance + eps) * weight + bias over the last dimension (Ba et al.,
/// 2016). `NAME.weight` (size) starts at 1 and `NAME.bias` (size) at 0.
class LayerNorm {
 public:
  static constexpr double kEps = 1e-5;  // PyTorch's default

  LayerNorm(ParameterSet& set, const std::string& name, int64_t size, double eps = kEps)
      : weight_(set.add(name + ".weight", {size}, Init::ones())),
        bias_(set.add(name + ".bias", {size}, Init::zeros())),
        eps_(eps) {}

  /// Normalises x (..., size); returns the same shape.
  Var operator()(const Var& x) const {
    return layer_norm(x, x.tape().parameter(weight_), x.tape().parameter(bias_), eps_);
  }

 private:
  Parameter &weight_, &bias_;
  double eps_;
};

}  // namespace nine
