// Warnings about n-best lists: scores that are read the wrong way round, lists that are reported
// and tuned on.
#pragma once

#include "apps/lm_rescore/rescore.h"

namespace nine::app {

/// Prints a warning where the first hypothesis, the first pass's own choice, has the lowest score
/// in more than half of the lists that have several scores: they are costs without --nbest-cost, or
/// no costs with it.
void warn_of_costs(const RescoreOptions& options, const RescoredLists& lists);

/// Prints a warning where no word of the references is in a hypothesis of its utterance: they are
/// written differently, in another case for example, or are of another text.
void warn_of_other_words(const RescoredLists& lists, const std::string& reference);

/// Prints a warning where lists that are reported are also those on which the weights are found,
/// under whatever name: lists are the same where their references and hypotheses are. A few short
/// ones may be the same by chance, so that other names count only where all lists are the same.
void warn_of_same_lists(const RescoredLists& reported, const RescoredLists& tuning);

}  // namespace nine::app
