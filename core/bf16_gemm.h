// Gemm<float> by products of bfloat16 pieces.
#pragma once

#include "core/gemm.h"

namespace nine::bf16 {

/// Whether a product with a right factor of k terms and n columns is computed from pieces: where
/// this process has loops for that, and tiles of 16 columns and 32 terms are not mostly padding. It
/// does not depend on the number of rows, nor does a row's result.
bool in_pieces(int64_t n, int64_t k);
/// The product, on all threads.
void gemm(const Gemm<float>& p);

}  // namespace nine::bf16
