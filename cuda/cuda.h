// The CUDA backend: how programs install it and choose its settings.
#pragma once

#include <cstdint>

#include "core/enum_names.h"

namespace nine::cuda {

/// Fills CUDA's op table (core/op_table.h), after which tensors and the ops of core can use CUDA
/// devices. Programs and tests call nine::install_cuda() (kernels/install_cuda.h) instead, which
/// calls this and installs the head's ops too. Using such a device is an Error in a build without
/// CUDA ("this build has no CUDA: ...") and on a machine without driver or GPU.
void install();

/// Whether this build has the CUDA backend.
bool built();

/// The number of GPUs that can be used: 0 in a build without CUDA and on a machine without driver.
int devices();

/// How float32 products are computed: entirely in float32 (fp32), or with factors rounded to tf32
/// (10 bits of mantissa) or to bfloat16. Sums and everything else (weights, activations,
/// reductions) are float32 in any case, and float64 products are float64.
enum class Precision : uint8_t { fp32, tf32, bf16 };
/// Sets it for all further products on all CUDA devices; it is fp32 at first.
void set_precision(Precision p);

}  // namespace nine::cuda

namespace nine {

template <>
inline constexpr EnumNames<cuda::Precision, 3> kEnumNames<cuda::Precision>{
    "matmul precision",
    {{{cuda::Precision::fp32, "fp32"},
      {cuda::Precision::tf32, "tf32"},
      {cuda::Precision::bf16, "bf16"}}}};

}  // namespace nine
