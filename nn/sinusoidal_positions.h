// Positions of a Transformer that are computed, not learned.
#pragma once

#include <cstdint>

#include "core/tensor.h"

namespace nine {

/// (count, width): sin(t f_i) in column i, cos(t f_i) in column width/2 + i, f_i = 10000^(-2 i /
/// width) (Vaswani et al., 2017, section 3.5, columns grouped as in fairseq). Computed in float64,
/// rounded to `dtype`. `width` is even.
Tensor sinusoidal_positions(int64_t count, int64_t width, DType dtype, Device device);

}  // namespace nine
