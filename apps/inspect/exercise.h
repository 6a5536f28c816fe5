// kernel_inspect --exercise: a problem for a pencil, and its solution.
#pragma once

#include <cstdint>
#include <string>

namespace nine::app {

/// The example `name` (see explain()) with numbers drawn by the seed such that those of the forward
/// pass are short: what is given and what is asked; with `solution` every step. UsageError: see
/// explain(), or an example whose numbers do not vary.
std::string exercise_text(const std::string& name, uint64_t seed, bool solution);

}  // namespace nine::app
