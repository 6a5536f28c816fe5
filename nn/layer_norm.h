// Normalisation of rows to mean 0 and variance 1.
#pragma once

#include <string>

#include "autograd/functions.h"
#include "nn/parameters.h"

namespace nine {

/// (x - mean) / sqrt(variance + eps) * weight + bias over the last dimension (Ba et al., 2016),
/// with `NAME.weight` and `NAME.bias` of that dimension's size, which start as 1 and 0.
class LayerNorm {
 public:
  static constexpr double kEps = 1e-5;  // PyTorch's

  LayerNorm(ParameterSet& set, const std::string& name, int64_t size, double eps = kEps)
      : weight_(set.add(name + ".weight", {size}, Init::ones())),
        bias_(set.add(name + ".bias", {size}, Init::zeros())),
        eps_(eps) {}

  /// x (..., size), normalised; the same shape.
  Var operator()(const Var& x) const {
    return layer_norm(x, x.tape().parameter(weight_), x.tape().parameter(bias_), eps_);
  }

 private:
  Parameter &weight_, &bias_;
  double eps_;
};

}  // namespace nine
