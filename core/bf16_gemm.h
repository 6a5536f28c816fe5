// Gemm<float> from products of bfloat16 pieces.
#pragma once

#include "core/gemm.h"

namespace nine::bf16 {

/// True if a product with a right factor of k terms and n columns is computed from pieces: this
/// process has loops for pieces, and tiles of 16 columns and 32 terms would not be mostly padding.
/// The answer and a row's result do not depend on the number of rows.
bool in_pieces(int64_t n, int64_t k);
/// Computes the product from pieces on all threads.
void gemm(const Gemm<float>& p);

}  // namespace nine::bf16
