// The precision of float32 matrix products: --matmul-precision of the programs.
#pragma once

#include <cstdint>

#include "core/enum_names.h"

namespace nine {

/// The precision of float32 products, with PyTorch's names and meanings
/// (torch.set_float32_matmul_precision). Sums and stored numbers are float32 at every precision.
/// Products of float64 matrices are float64.
///
/// highest  at least float32: a CPU with bfloat16 tiles (AMX) cuts each number into three bfloat16
///          pieces and adds six products of pieces, with an error below that of float32 arithmetic
///          (core/bf16_product.h); on CUDA fp32
/// high     a CPU with bfloat16 tiles and CUDA's output layer keep 16 bits of each factor, in three
///          products of bfloat16 pieces; CUDA's other products keep 11 bits (TF32)
/// medium   factors may be rounded to bfloat16 (8 bits); CUDA's output layer rounds them
///
/// A CPU without bfloat16 tiles computes all three in float32, with two exceptions. With
/// AVX512-BF16 it rounds the factors of `medium` to bfloat16. With the environment variable
/// NINE_BF16_TILES set (core/bf16_product.h), it uses bfloat16 pieces at every precision.
enum class MatmulPrecision : uint8_t { highest, high, medium };

template <>
inline constexpr EnumNames<MatmulPrecision, 3> kEnumNames<MatmulPrecision>{
    "matmul precision",
    {{{MatmulPrecision::highest, "highest"},
      {MatmulPrecision::high, "high"},
      {MatmulPrecision::medium, "medium"}}}};

/// Returns this process's precision: `highest` unless set_matmul_precision() was called.
MatmulPrecision matmul_precision();
/// Sets the precision of all further float32 products of this process, on all devices. A BeamSearch
/// keeps the precision at its construction. Must not be called while an op runs.
void set_matmul_precision(MatmulPrecision p);

}  // namespace nine
