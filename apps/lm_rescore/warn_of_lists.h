// Warnings about n-best lists: lists and references that do not belong together, lists that are
// rescored and tuned on, groups that are not independent.
#pragma once

#include <span>
#include <string>

#include "apps/lm_rescore/rescore.h"
#include "data/measures/list_warnings.h"

namespace nine::app {

/// Prints a message of lm_rescore on standard error as a warning; nothing if the message is empty.
void print_warning(const std::string& message);

/// Prints list_warnings() of the lists and, unless null, of those to tune on. If scores run the
/// wrong way, the advice is about --nbest-cost: the scores are costs without it, or no costs with
/// it. The option holds for both files: if the scores of one run the right way, the advice is to
/// change the sign of the others. Also says how many lists are not in the order of their scores.
void warn_of_lists(const RescoreOptions& options, const RescoredLists& lists,
                   const RescoredLists* tuning);

/// Prints a warning if lists of different groups are the same, hypotheses and scores: the bootstrap
/// takes them as independent. With --group-by it also warns of fewer than 5 groups.
void warn_of_groups(const RescoreOptions& options, const RescoredLists& lists,
                    std::span<const size_t> groups);

}  // namespace nine::app
