// A trainable tensor: its name, value and gradient.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "autograd/touched_rows.h"
#include "core/tensor.h"

namespace nine {

/// Gives parameters their memory when the first of them is used: ParameterSet, in nn/parameters.h.
class ParameterMemory {
 public:
  virtual ~ParameterMemory() = default;
  /// Makes the memory of all its parameters (Parameter::set_memory); does nothing the second time.
  virtual void make() const = 0;
};

class Parameter {
 public:
  Parameter() = default;
  /// With memory of its own; without `grad` it is not trained.
  Parameter(std::string parameter_name, Tensor value, Tensor grad = {})
      : name(std::move(parameter_name)), value_(std::move(value)), grad_(std::move(grad)) {}
  /// With memory that `memory` makes at the first use; `memory` outlives the parameter.
  Parameter(std::string parameter_name, const ParameterMemory& memory)
      : name(std::move(parameter_name)), memory_(&memory) {}

  const Tensor& value() const {
    make();
    return value_;
  }
  /// Of value's shape; its contents count only while has_grad. Empty when it is not trained.
  const Tensor& grad() const {
    make();
    return grad_;
  }
  void set_memory(Tensor value, Tensor grad) {
    value_ = std::move(value);
    grad_ = std::move(grad);
  }

  std::string name;  ///< PyTorch's name, such as "lstm.weight_ih_l0"
  /// Whether `grad` holds gradients since the last update: the next one is then added, and
  /// otherwise overwrites what is there.
  bool has_grad = false;
  /// On a tape it is a constant, its gradient stays 0. So it keeps its value, unless an optimiser
  /// has weight decay, or moments or a velocity from before it was frozen.
  bool frozen = false;
  /// Where it has a value: the rows of this table, (V, d) or a (V) of single numbers, that have had
  /// a gradient since the last update. Outside of them `grad` is 0 then, always, so that no pass
  /// over the table is needed where a step reaches few rows. Whoever clears them sets those rows of
  /// `grad` to 0 (ParameterSet::zero_grad). Without it `grad` is written as a whole.
  std::optional<TouchedRows> touched;

 private:
  void make() const {
    if (!value_ && memory_ != nullptr) memory_->make();
  }

  Tensor value_, grad_;
  const ParameterMemory* memory_ = nullptr;
};

}  // namespace nine
