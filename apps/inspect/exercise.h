// kernel_inspect --exercise: an exercise for pencil and paper, and its solution.
#pragma once

#include <cstdint>
#include <string>

#include "apps/inspect/worked_example.h"

namespace nine::app {

/// Returns the example `name` (see explain()) with numbers that a search from the seed finds. The
/// numbers of its steps should have short forms: the search makes unfinished_numbers() as small as
/// it can, then the number of such numbers after the softmax. UsageError: see explain().
WorkedExample exercise(const std::string& name, uint64_t seed);

/// Returns how many printed numbers have no short form (short_form). Numbers after a softmax do not
/// count, because few scores give probabilities with a short form. A variance's 0.000001 counts as
/// 0.
int unfinished_numbers(const WorkedExample& example);

/// Returns the given numbers and the questions; with `solution`, also every step. UsageError: see
/// exercise().
std::string exercise_text(const std::string& name, uint64_t seed, bool solution);

}  // namespace nine::app
