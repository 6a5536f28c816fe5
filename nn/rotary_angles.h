// The angles of rotary positions.
#pragma once

#include <cstdint>
#include <mutex>

#include "core/tensor.h"

namespace nine {

/// Rotary positions (Su et al., 2021): at position t, pair i of a head is rotated by the angle t *
/// base^(-2 i / size). Pair i is made of elements i and size/2 + i of a head, as in Hugging Face's
/// Llama; the original Llama pairs elements 2 i and 2 i + 1. All layers of a model share one
/// object.
class RotaryAngles {
 public:
  /// For positions below `count` and heads of `size` numbers. Error: an odd size; a base of 0 or
  /// less.
  RotaryAngles(int64_t count, int64_t size, double base);

  /// Returns the rows of all positions as ops::rotary() takes them: (count, size). Computes the
  /// table at the first call, in float64, and rounds it to `dtype`; all calls must have one dtype
  /// and one device.
  const Tensor& table(DType dtype, Device device) const;
  /// Returns the rows of positions first, first + 1, ..., first + steps - 1: (steps, size). Error:
  /// more positions than there are.
  Tensor rows(int64_t first, int64_t steps, DType dtype, Device device) const;

 private:
  int64_t count_, size_;
  double base_;
  // Several threads may reach the first call at once.
  mutable std::once_flag made_;
  mutable Tensor table_;
};

}  // namespace nine
