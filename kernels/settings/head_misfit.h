// Numbers of a head and its loss that the type of the computation cannot hold.
#pragma once

#include <span>
#include <string>

#include "core/dtype.h"
#include "kernels/settings/head_config.h"

namespace nine {

/// The first such number of kernels, formulas, margin, norms and regularisers and what is wrong
/// with it (core/misfit.h): "p of pow, 1e-300, is too small for float32, ..."; empty: there is
/// none.
std::string misfit(const HeadConfig& head, DType type);

/// Describes an output bias whose size hides the differences between words: all biases but
/// -infinity have one sign and are so large that numbers of `type` lie 1/16 or more apart there.
/// Probabilities would be made of rounding. Empty: the bias is none of that kind.
std::string bias_misfit(std::span<const double> bias, DType type);

}  // namespace nine
