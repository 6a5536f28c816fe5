// kernel_inspect without arguments: the table of kernels.
#pragma once

#include <string>

namespace nine::app {

/// The kernels with formula, derivative, parameters with defaults and ranges, and what they
/// become with some of them; the presets of mixtures.
std::string kernel_table_text();

}  // namespace nine::app
