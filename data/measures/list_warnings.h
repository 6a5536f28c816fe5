// Finds n-best lists and references that do not belong together, or from which nothing follows:
// warnings for the user of a rescoring.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/n_best.h"

namespace nine {

/// N-best lists, with the reference of each list or without references. Messages call both by name.
struct NamedLists {
  std::string name;
  std::string references_name;
  std::span<const NBestList> lists;
  std::span<const std::string> references;
};

/// Returns true if the first hypothesis has the lowest score in more than half of the lists that
/// have several scores.
bool has_worst_first(std::span<const NBestList> lists);

/// Returns the warnings about lists that are rescored and, unless null, about the lists on which
/// the weights are found. `advice` and `tuning_advice` say what to do if the scores seem to run the
/// wrong way (has_worst_first). The warnings say that
///  - no list has a choice, no list has two scores, or the scores run the wrong way;
///  - references do not fit their lists (reference_warning), or only one of both is cut into
///    subwords (subword_warning in data/bpe.h);
///  - lists are rescored on which the weights are found, under whatever name. Two lists are the
///    same if they have three quarters of the different hypotheses of the shorter list in common; a
///    hypothesis of more than 100 tuning lists does not count. A few short lists may be the same by
///    chance, so that lists of other names count only if they are a tenth of all lists. If no lists
///    are the same, the warning appears if half of the references are;
///  - the spreads of the first-pass scores differ by a factor of 10 or more, so that weights that
///    are found for one scale are used for another.
std::vector<std::string> list_warnings(const NamedLists& lists, const std::string& advice,
                                       const NamedLists* tuning = nullptr,
                                       const std::string& tuning_advice = {});

/// Texts of the utterances of lists, one or several of each, and the name that messages give them.
struct HeardTexts {
  std::string name;
  std::vector<std::vector<std::string>> of_utterance;
};

/// Returns a warning if the references of the lists do not fit `heard`: they are written
/// differently, in another case for example, or are of other utterances. Otherwise returns an empty
/// text.
///
/// A text fits by 2 * common / (words of both texts), where a word counts as often as both texts
/// have it. A reference does not fit if the best text of its utterance fits by less than a quarter,
/// or if the reference before or after it in the lists fits some text of the utterance better. The
/// warning counts these utterances. It appears if they have more than a tenth of the words, so that
/// a few short utterances that were recognised wrongly cause no warning.
std::string reference_warning(const HeardTexts& heard, const NamedLists& lists);

}  // namespace nine
