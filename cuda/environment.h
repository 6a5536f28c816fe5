// Variables of the environment that change the bits that a GPU computes.
#pragma once

#include <string>

namespace nine::cuda {

/// Returns the variables that are set and change the bits of results, sorted: "CUBLAS_...=...,
/// NVIDIA_TF32_OVERRIDE=0"; empty: there are none. A run records them, because CUDA, cuBLAS and
/// MPS read them behind the program's back.
std::string settings_that_change_bits();

/// Error: the environment makes cuBLAS round the factors of products that `highest`, the precision
/// of matrix products that is set, promises to leave as they are.
void require_promised_precision();

}  // namespace nine::cuda
