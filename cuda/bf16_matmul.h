// Products of bfloat16 matrices with float32 sums on a GPU, and the rounding of a factor.
#pragma once

#include "core/tensor.h"

namespace nine::cuda {

/// Submits c = op(a) op(b) or, with c.add, c += op(a) op(b): a and b are bfloat16, c and all sums
/// are float32. Without terms the product is 0. cuBLAS is fastest if each row of a and b begins at
/// a multiple of 16 bytes. Errors, which name `op`: other types or devices; shapes that do not fit.
void matmul_bf16(const char* op, const View& a, bool transpose_a, const View& b, bool transpose_b,
                 const OutputView& c);

/// Submits the rounding of a float32 matrix to bfloat16 in its own memory, and returns the result:
/// the numbers of a row take the first half of the row's memory. Rounds to nearest, ties to even.
/// Error, which names `op`: another type.
View round_in_place(const char* op, const View& x);

}  // namespace nine::cuda
