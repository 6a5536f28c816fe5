#include "apps/lm_rescore/warn_of_lists.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"

namespace nine::app {

namespace {

constexpr int64_t kFewGroups = 5;  // intervals that are drawn from fewer are too narrow

// What to do if the scores of one file run the wrong way; `other`: the other file, if there is one.
std::string advice(const RescoreOptions& o, const RescoredLists* other) {
  const std::string question =
      o.nbest_cost ? "are these no costs? then " : "are these costs, as Kaldi's? then ";
  if (other != nullptr && !has_worst_first(other->lists))
    return concat(question, "change the sign of the scores in this file: --nbest-cost holds for ",
                  other->file, " too, whose scores run the right way");
  return question + (o.nbest_cost ? "leave out --nbest-cost" : "give --nbest-cost");
}

void explain_order(const RescoredLists& lists) {
  const int64_t unordered = lists.out_of_order();
  if (unordered > 0 && !has_worst_first(lists.lists))
    std::fprintf(stderr,
                 "lm_rescore: %s: in %lld of %lld lists the first hypothesis does not have the "
                 "best score; the first pass is the hypothesis with the best score\n",
                 lists.file.c_str(), static_cast<long long>(unordered),
                 static_cast<long long>(lists.lists.size()));
}

}  // namespace

void print_warning(const std::string& message) {
  if (!message.empty()) std::fprintf(stderr, "lm_rescore: warning: %s\n", message.c_str());
}

void warn_of_lists(const RescoreOptions& o, const RescoredLists& lists,
                   const RescoredLists* tuning) {
  explain_order(lists);
  if (tuning != nullptr) explain_order(*tuning);
  const NamedLists own = lists.named(o.reference);
  const NamedLists other = tuning != nullptr ? tuning->named(o.tune_reference) : NamedLists{};
  for (const std::string& message : list_warnings(
           own, advice(o, tuning), tuning != nullptr ? &other : nullptr, advice(o, &lists)))
    print_warning(message);
}

void warn_of_groups(const RescoreOptions& o, const RescoredLists& lists,
                    std::span<const size_t> groups) {
  using Scored = std::vector<std::pair<std::string_view, double>>;
  std::map<Scored, size_t> seen;  // the group of the first such list
  int64_t repeated = 0;
  for (size_t i = 0; i < lists.lists.size(); ++i) {
    Scored list;
    for (const NBestHypothesis& h : lists.lists[i].hypotheses) list.emplace_back(h.words, h.score);
    const auto [first, is_new] = seen.emplace(std::move(list), groups[i]);
    repeated += !is_new && first->second != groups[i] ? 1 : 0;
  }
  if (repeated > 0)
    print_warning(concat(
        repeated, " of ", lists.lists.size(), " lists of ", lists.file,
        " repeat another list under another name, hypotheses and scores: intervals and tests take "
        "them as independent and are too sure. Leave them out, or name the lists that belong "
        "together with --group-by"));
  const auto count = static_cast<int64_t>(std::ranges::max(groups)) + 1;
  if (o.group_by != "utterance" && count < kFewGroups)
    print_warning(concat("--group-by ", o.group_by, " makes ", count,
                         " groups: intervals that are drawn from fewer than ", kFewGroups,
                         " are too narrow"));
}

}  // namespace nine::app
