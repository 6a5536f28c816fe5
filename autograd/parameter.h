// A trainable tensor: its name, value and gradient.
#pragma once

#include <string>

#include "core/tensor.h"

namespace nine {

struct Parameter {
  std::string name;  ///< PyTorch's name, such as "lstm.weight_ih_l0"
  Tensor value;
  Tensor grad;  ///< of value's shape; its contents count only while has_grad
  /// Whether `grad` holds gradients since the last update: the next one is then added, and
  /// otherwise overwrites what is there.
  bool has_grad = false;
};

}  // namespace nine
