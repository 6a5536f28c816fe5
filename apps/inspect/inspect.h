// kernel_inspect --input: everything that a head computes from given numbers.
#pragma once

#include <string>

#include "apps/inspect/inspect_input.h"
#include "core/json.h"

namespace nine::app {

/// loss, nll, scores, log_probs, pi, grad, check and formulas, as docs/formats.md describes them.
/// Values and gradients are those of the library's fused op in the input's dtype; the check's
/// finite differences are taken in float64. Error: a number that is not finite.
Json inspect(const InspectInput& input);

/// The same from JSON text to one line of JSON. UsageError: the text is no such input.
std::string inspect_json(const std::string& text);

}  // namespace nine::app
