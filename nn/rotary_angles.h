// The angles of rotary positions.
#pragma once

#include <cstdint>

#include "nn/attention_positions.h"
#include "nn/rotary_scaling.h"

namespace nine {

/// Rotary positions (Su et al., 2021): at position t, pair i of a head is rotated by the angle t *
/// base^(-2 i / size), divided as RotaryScaling says. Pair i is made of elements i and size/2 + i
/// of a head, as in Hugging Face's Llama; the original Llama pairs elements 2 i and 2 i + 1. The
/// numbers of a position are those of ops::rotary().
class RotaryAngles : public AttentionPositions {
 public:
  /// For positions below `count` and heads of `size` numbers. Error: an odd size; a base of 0 or
  /// less.
  RotaryAngles(int64_t count, int64_t size, double base, const RotaryScaling& scaling = {});

  Var placed(const Var& x, const Tensor& rows, int64_t columns) const override;

 private:
  void fill(int64_t position, double* row) const override;

  double base_;
  RotaryScaling scaling_;
};

}  // namespace nine
