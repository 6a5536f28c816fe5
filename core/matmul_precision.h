// How exactly float32 products are computed: --matmul-precision of the programs.
#pragma once

#include <cstdint>

#include "core/enum_names.h"

namespace nine {

/// PyTorch's words and meanings (torch.set_float32_matmul_precision). Sums and everything that is
/// stored are float32 in any case; products of float64 matrices are float64.
///
/// highest  float32: where a CPU has bfloat16 tiles, six products of bfloat16 pieces, with an error
///          below that of float32 arithmetic (core/bf16_product.h); on CUDA fp32
/// high     factors of 16 bits or more: three products of bfloat16 pieces; on CUDA TF32 (11 bits)
/// medium   factors rounded to bfloat16 (8 bits)
///
/// A CPU without bfloat16 tiles computes all three in float32, but for medium where it has
/// AVX512-BF16, and what NINE_BF16_TILES asks for (core/bf16_product.h).
enum class MatmulPrecision : uint8_t { highest, high, medium };

template <>
inline constexpr EnumNames<MatmulPrecision, 3> kEnumNames<MatmulPrecision>{
    "matmul precision",
    {{{MatmulPrecision::highest, "highest"},
      {MatmulPrecision::high, "high"},
      {MatmulPrecision::medium, "medium"}}}};

/// This process's: `highest` at first.
MatmulPrecision matmul_precision();
/// Sets it for all further products, on all devices; a beam search keeps the one that it was made
/// under. Not while an op runs.
void set_matmul_precision(MatmulPrecision p);

}  // namespace nine
