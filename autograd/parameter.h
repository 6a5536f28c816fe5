// A trainable tensor: its name, value and gradient.
#pragma once

#include <string>

#include "core/tensor.h"

namespace nine {

struct Parameter {
  std::string name;  ///< PyTorch's, such as "lstm.weight_ih_l0"
  Tensor value;
  Tensor grad;  ///< same shape; meaningful only when has_grad
  bool has_grad =
      false;  ///< false: nothing was added since the last update, the next gradient overwrites
};

}  // namespace nine
