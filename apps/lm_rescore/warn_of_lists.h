// Warnings about n-best lists: scores that are read the wrong way round, lists that are reported
// and tuned on.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "apps/lm_rescore/rescore.h"

namespace nine::app {

/// Prints a warning if lists are not in the order of their first-pass scores, with their number. If
/// the first hypothesis has the lowest score in more than half of the lists that have several
/// scores, the warning asks about --nbest-cost: the scores are costs without it, or no costs with
/// it. The option holds for `other` too, the other file of lists if there is one: if its scores run
/// the right way, the advice is to change the sign of these. Other warnings say that no list has a
/// choice, or that no list has two scores.
void warn_of_order(const RescoreOptions& options, const RescoredLists& lists,
                   const RescoredLists* other);

/// Prints a warning if the spreads of the first-pass scores within lists differ by a factor of 10
/// or more: lambda and mu are found for the scores of the one file and used for those of the other.
void warn_of_scales(const RescoredLists& reported, const RescoredLists& tuning);

/// Prints a warning if lists of different groups are the same, hypotheses and scores: the bootstrap
/// takes them as independent. With --group-by it also warns of fewer than 5 groups.
void warn_of_groups(const RescoreOptions& options, const RescoredLists& lists,
                    std::span<const size_t> groups);

/// Texts of the utterances of lists, one or several of each, and the file that has them.
struct HeardTexts {
  std::string file;
  std::vector<std::vector<std::string>> of_utterance;
};
/// The hypotheses of the lists.
HeardTexts heard_in(const RescoredLists& lists);

/// Prints a warning if the references of the lists in the file `reference` do not fit `heard`: they
/// are written differently, in another case for example, or are of other utterances.
///
/// A text fits by 2 * common / (words of both texts), where a word counts as often as both texts
/// have it. A reference does not fit if the best text of its utterance fits by less than a quarter,
/// or if the reference before or after it in the lists fits some text of the utterance better. The
/// warning counts these utterances. It appears if they have more than a tenth of the words, so that
/// a few short utterances that were recognised wrongly cause none.
void warn_of_other_words(const HeardTexts& heard, const RescoredLists& lists,
                         const std::string& reference);

/// Prints a warning if lists that are reported are also those on which the weights are found, under
/// whatever name. Two lists are the same if they have three quarters of the different hypotheses of
/// the shorter list in common; a hypothesis of more than 100 tuning lists does not count. A few
/// short lists may be the same by chance, so that lists of other names count only if they are a
/// tenth of all lists. If no lists are the same, the warning appears if half of the references are:
/// other hypotheses of the same sentences.
void warn_of_same_lists(const RescoredLists& reported, const RescoredLists& tuning);

}  // namespace nine::app
