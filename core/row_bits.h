// Whether parts of a matrix product may be computed apart.
#pragma once

namespace nine {

/// Whether a row of a product on the CPU is the same to the last bit whichever rows share the
/// product: with libxsmm's code for tiles (tests/test_row_bits.cpp), but not with Eigen's; of
/// products of bfloat16 pieces nothing is said.
bool rows_are_independent();

}  // namespace nine
