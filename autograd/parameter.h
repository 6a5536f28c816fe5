// A trainable tensor: its name, value and gradient.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "autograd/touched_rows.h"
#include "core/tensor.h"

namespace nine {

/// Gives parameters their memory at the first use of any of them. ParameterSet (nn/parameters.h)
/// implements this interface.
class ParameterMemory {
 public:
  virtual ~ParameterMemory() = default;
  /// Allocates the memory of all parameters and passes it to each by Parameter::set_memory(). A
  /// second call does nothing.
  virtual void make() const = 0;
};

/// A trainable tensor: its name, value and gradient. Its memory is its own or comes from a
/// ParameterMemory.
class Parameter {
 public:
  Parameter() = default;
  /// Makes a parameter that owns its memory. A parameter without `grad` is not trained.
  Parameter(std::string parameter_name, Tensor value, Tensor grad = {})
      : name(std::move(parameter_name)), value_(std::move(value)), grad_(std::move(grad)) {}
  /// Makes a parameter without memory. Its first use calls memory.make(). `memory` must outlive the
  /// parameter.
  Parameter(std::string parameter_name, const ParameterMemory& memory)
      : name(std::move(parameter_name)), memory_(&memory) {}

  /// Returns the value. The first call may make the memory.
  const Tensor& value() const {
    make();
    return value_;
  }
  /// Returns the gradient, of value's shape. Its contents are valid only while has_grad is true.
  /// Empty if the parameter is not trained.
  const Tensor& grad() const {
    make();
    return grad_;
  }
  /// Sets the memory of the value and the gradient; for ParameterMemory.
  void set_memory(Tensor value, Tensor grad) {
    value_ = std::move(value);
    grad_ = std::move(grad);
  }

  std::string name;  ///< PyTorch's name, such as "lstm.weight_ih_l0"
  /// True if `grad` holds gradients since the last update. The next gradient is then added, and
  /// otherwise overwrites the old contents.
  bool has_grad = false;
  /// True if tapes treat the parameter as a constant, with gradient 0. Its value still changes by
  /// weight decay, and by an optimiser's moments or velocity from updates before it was frozen.
  bool frozen = false;
  /// True if this is the matrix of a linear map inside of a network. The optimiser muon updates it
  /// as a matrix, and other parameters element by element.
  bool linear_map = false;
  /// If set: the rows of this table that have had a gradient since the last update. The table is
  /// (V, d), or (V) for single numbers. `grad` is 0 in all other rows, so that a step that reaches
  /// few rows needs no pass over the table. Before you call touched->clear(), set the recorded rows
  /// of `grad` to 0, as ParameterSet::zero_grad() does. If not set, `grad` is written as a whole.
  std::optional<TouchedRows> touched;

 private:
  void make() const {
    if (!value_ && memory_ != nullptr) memory_->make();
  }

  Tensor value_, grad_;
  const ParameterMemory* memory_ = nullptr;
};

}  // namespace nine
