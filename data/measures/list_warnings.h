// Finds lists and references that do not fit each other, and lists that leave nothing to choose.
// The warnings are for the user of a rescoring.
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

/// True if the first hypothesis has the lowest score in more than half of the lists. A list whose
/// hypotheses all have one score does not count.
bool has_worst_first(std::span<const NBestList> lists);

/// Returns the warnings about the lists to rescore and, unless null, about the lists `tuning`, on
/// which the weights are found. `advice` and `tuning_advice` say what to do if the scores seem to
/// run the wrong way (has_worst_first). The warnings say that
///  - no list has two different hypotheses, or no list has two different scores;
///  - the scores run the wrong way;
///  - references do not fit their lists (reference_warning), or only one of both is cut into
///    subwords (subword_warning in data/bpe.h);
///  - `tuning` has lists that are to be rescored. Two lists are the same if they share three
///    quarters of the shorter list's different hypotheses; a hypothesis that is in more than 100
///    tuning lists does not count. Short lists may share hypotheses by chance. So if `tuning` has
///    less than a tenth of the lists to rescore, two lists are the same only if their utterances
///    have the same name, too;
///  - `tuning` has none of the lists to rescore, but half or more of their references;
///  - the spreads of the first-pass scores differ by a factor of 10 or more, so that the weights
///    are found for one scale and used for another.
std::vector<std::string> list_warnings(const NamedLists& lists, const std::string& advice,
                                       const NamedLists* tuning = nullptr,
                                       const std::string& tuning_advice = {});

/// What was heard in the utterances of some lists, such as a recogniser's output. of_utterance[i]
/// has at least one text for list i. Messages call the texts `name`.
struct HeardTexts {
  std::string name;
  std::vector<std::vector<std::string>> of_utterance;
};

/// Returns a warning if the references of the lists do not fit `heard`: they are written
/// differently, in another case for example, or are of other utterances. Otherwise returns an empty
/// text.
///
/// The fit of a reference and a text is 2 * common / (words of both), where `common` counts the
/// words that both have, in any order. A reference is wrong if its best fit with a text of its
/// utterance is below a quarter, or if the reference before or after it fits better. The warning
/// gives the number of wrong references. It appears if the utterances of wrong references have more
/// than a tenth of all words. So a few short utterances that were recognised wrongly cause no
/// warning. An utterance has as many words as its longest text or its reference, whichever is
/// longer.
std::string reference_warning(const HeardTexts& heard, const NamedLists& lists);

}  // namespace nine
