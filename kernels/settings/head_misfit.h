// Numbers of a head and its loss that the type of the computation cannot hold.
#pragma once

#include <string>

#include "core/dtype.h"
#include "kernels/settings/head_config.h"

namespace nine {

/// The first such number of kernels, formulas, margin, norms and regularisers and what is wrong
/// with it (core/misfit.h): "p of pow, 1e-300, is too small for float32, ..."; empty: there is
/// none.
std::string misfit(const HeadConfig& head, DType type);

}  // namespace nine
