// Positions of a Transformer that are computed instead of learned.
#pragma once

#include <cstdint>

#include "core/tensor.h"

namespace nine {

/// Returns (count, width): sin(t f_i) in column i and cos(t f_i) in column width/2 + i, with f_i =
/// 10000^(-2 i / width) (Vaswani et al., 2017, section 3.5, columns grouped as in fairseq).
/// Computes in float64 and rounds to `dtype`. `width` must be even.
Tensor sinusoidal_positions(int64_t count, int64_t width, DType dtype, Device device);

}  // namespace nine
