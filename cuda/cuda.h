// The CUDA backend's one entry: fills CUDA's op table (core/op_table.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nine::cuda {

/// Makes Device{cuda} usable where the build has CUDA and the machine a GPU. In a build without
/// CUDA every use of such a device is an Error: "this build has no CUDA: ..."; without a driver or
/// card it is one that says so. Called by programs and tests, once, before the first op.
void install();

/// Whether this build has the CUDA backend.
bool built();

/// Cards that can be used here: 0 in a build without CUDA and on a machine without a driver.
int devices();

/// What float32 products are computed in on CUDA: float32 throughout; factors rounded to tf32 (10
/// bits); factors rounded to bfloat16. Sums are float32, and so is everything else: weights,
/// activations, reductions. float64 products stay float64.
enum class Precision : uint8_t { fp32, tf32, bf16 };
Precision precision_from_text(
    std::string_view name);  ///< fp32, tf32, bf16; anything else is an Error
void set_precision(Precision p);

}  // namespace nine::cuda
