// kernel_inspect --exercise: a problem for a pencil, and its solution.
#pragma once

#include <cstdint>
#include <string>

#include "apps/inspect/worked_example.h"

namespace nine::app {

/// The example `name` (see explain()) with numbers that a search from the seed finds, such that
/// those of its steps come out: as few of unfinished_numbers() as it can, then as few behind the
/// softmax. UsageError: see explain().
WorkedExample exercise(const std::string& name, uint64_t seed);

/// How many printed numbers have no short form (short_form), of those that no softmax goes into:
/// its probabilities come out for few scores. A variance's 0.000001 counts as 0.
int unfinished_numbers(const WorkedExample& example);

/// What is given and what is asked; with `solution` every step. UsageError: see exercise().
std::string exercise_text(const std::string& name, uint64_t seed, bool solution);

}  // namespace nine::app
