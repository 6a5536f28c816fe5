// Products of bfloat16 matrices with float32 sums on a GPU, and float32 factors as bfloat16 pieces
// (core/bf16_product.h).
#pragma once

#include <array>
#include <vector>

#include "core/tensor.h"

namespace nine::cuda {

/// Submits c = op(a) op(b) or, with c.add, c += op(a) op(b): a and b are bfloat16, c and all sums
/// are float32. Without terms the product is 0. cuBLAS is fastest if each row of a and b begins at
/// a multiple of 16 bytes. Errors, which name `op`: other types or devices; shapes that do not fit.
void matmul_bf16(const char* op, const View& a, bool transpose_a, const View& b, bool transpose_b,
                 const OutputView& c);

/// The pieces of a factor, the largest first: bfloat16 matrices of one shape. A factor of fewer
/// pieces leaves the last ones empty.
using Pieces = std::array<View, 3>;
/// Submits the product of two factors of `count` pieces: the sum, pair after pair of
/// bf16::pairs_of(count), of their products. Errors: those of matmul_bf16.
void matmul_pieces(const char* op, int count, const Pieces& a, bool transpose_a, const Pieces& b,
                   bool transpose_b, const OutputView& c);

/// A factor's columns from `first` on, as pieces.
struct PieceColumns {
  int64_t first = 0;
  Pieces pieces;
};
/// Submits the cut of a float32 matrix into `count` pieces in its own memory, and returns its
/// columns in order. One piece: all columns are together, in the first half of each row's memory.
/// Two pieces: there are at most 8,192 columns together, and their second piece lies behind their
/// first. Three pieces: `rest`, a bfloat16 matrix of x's shape, gets the third. If x has whole
/// panels of 8 columns and each row begins at a multiple of 16 bytes, so do the pieces. Errors,
/// which name `op`: another type, another shape of `rest`.
std::vector<PieceColumns> cut_in_place(const char* op, const View& x, int count,
                                       const View& rest = {});

}  // namespace nine::cuda
