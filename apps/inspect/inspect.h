// kernel_inspect --input: all results of a head for given numbers.
#pragma once

#include <string>

#include "apps/inspect/inspect_input.h"
#include "core/json.h"

namespace nine::app {

/// Returns loss, nll, scores, log_probs, pi, grad, check and formulas, as docs/formats.md
/// describes. The library's fused op computes values and gradients in the input's dtype; the check
/// takes finite differences in float64. Error: a number is not finite.
Json inspect(const InspectInput& input);

/// Does the same from JSON text to one line of JSON. UsageError: the text is not a valid input.
std::string inspect_json(const std::string& text);

}  // namespace nine::app
