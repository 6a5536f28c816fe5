#include "apps/lm_rescore/warn_of_lists.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>

#include "data/text.h"

namespace nine::app {

void warn_of_costs(const RescoreOptions& o, const RescoredLists& lists) {
  int64_t with_order = 0, reversed = 0;
  for (const NBestList& list : lists.lists) {
    const auto [low, high] =
        std::ranges::minmax(list.hypotheses, {}, [](const NBestHypothesis& h) { return h.score; });
    if (low.score == high.score) continue;
    ++with_order;
    if (list.hypotheses.front().score == low.score) ++reversed;
  }
  if (2 * reversed <= with_order) return;
  std::fprintf(
      stderr,
      "lm_rescore: %s: in %lld of %lld lists the first hypothesis has the worst score; %s\n",
      lists.file.c_str(), static_cast<long long>(reversed), static_cast<long long>(with_order),
      o.nbest_cost ? "are these no costs? then leave out --nbest-cost"
                   : "are these costs, as Kaldi's? then give --nbest-cost");
}

namespace {

// The words of each list: its reference and its hypotheses, one a line.
std::vector<std::string> words_of(const RescoredLists& lists) {
  std::vector<std::string> all;
  for (size_t i = 0; i < lists.lists.size(); ++i) {
    all.push_back(lists.references[i]);
    for (const NBestHypothesis& h : lists.lists[i].hypotheses) all.back() += "\n" + h.words;
  }
  return all;
}

}  // namespace

void warn_of_other_words(const RescoredLists& lists, const std::string& reference) {
  for (size_t i = 0; i < lists.lists.size(); ++i) {
    std::set<std::string_view> spoken;
    for_each_word(lists.references[i], [&](std::string_view word) { spoken.insert(word); });
    bool found = false;
    for (const NBestHypothesis& h : lists.lists[i].hypotheses)
      for_each_word(h.words,
                    [&](std::string_view word) { found = found || spoken.contains(word); });
    if (found) return;
  }
  std::fprintf(
      stderr,
      "lm_rescore: no word of %s is in a hypothesis of its utterance in %s: are both written "
      "alike, in the same case, and of the same text?\n",
      reference.c_str(), lists.file.c_str());
}

void warn_of_same_lists(const RescoredLists& reported, const RescoredLists& tuning) {
  const std::vector<std::string> tuned = words_of(tuning);
  std::set<std::string> words(tuned.begin(), tuned.end());
  std::set<std::pair<std::string, std::string>> named;
  for (size_t i = 0; i < tuned.size(); ++i) named.emplace(tuning.lists[i].utterance, tuned[i]);
  int64_t same = 0, same_named = 0;
  const std::vector<std::string> own = words_of(reported);
  for (size_t i = 0; i < own.size(); ++i) {
    same += words.contains(own[i]) ? 1 : 0;
    same_named += named.contains({reported.lists[i].utterance, own[i]}) ? 1 : 0;
  }
  const int64_t count = same == std::ssize(own) ? same : same_named;
  if (count > 0)
    std::fprintf(stderr,
                 "warning: lambda is found on the very lists of --nbest: %lld of the %lld lists of "
                 "%s are in %s too, so that their figures are better than those of other lists "
                 "would be\n",
                 static_cast<long long>(count), static_cast<long long>(own.size()),
                 reported.file.c_str(), tuning.file.c_str());
}

}  // namespace nine::app
