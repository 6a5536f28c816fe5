// kernel_inspect without arguments: the table of kernels.
#pragma once

#include <string>

namespace nine::app {

/// Returns the table of kernels: formula, derivative, parameters with defaults and ranges, and
/// special cases. The presets of mixtures follow.
std::string kernel_table_text();

}  // namespace nine::app
