// Whether an n-best list's scores are read the wrong way round.
#pragma once

#include "apps/lm_rescore/rescore.h"

namespace nine::app {

/// Prints a warning where the first hypothesis, the first pass's own choice, has the lowest score
/// in more than half of the lists that have several scores: they are costs without --nbest-cost, or
/// no costs with it.
void warn_of_costs(const RescoreOptions& options, const RescoredLists& lists);

}  // namespace nine::app
