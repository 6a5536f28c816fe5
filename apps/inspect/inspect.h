// kernel_inspect's work: everything a head says of given numbers, and the table of kernels.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "apps/inspect/inspect_input.h"

namespace nine::app {

/// loss, nll, scores, log_probs, pi, grad, check and formulas, as formats.md describes them. Values
/// and gradients are those of the library's own fused op in the input's dtype; the check's
/// differences are taken in float64. Error: a number that is not finite.
nlohmann::ordered_json inspect(const InspectInput& input);

/// The kernels with formula, derivative, parameters with defaults and ranges, and what they
/// collapse to; the presets.
std::string kernel_table_text();

}  // namespace nine::app
