#include "apps/lm_rescore/warn_of_lists.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/number_format.h"
#include "core/quote.h"
#include "data/text.h"

namespace nine::app {

namespace {

// How the first hypotheses stand to the others.
struct Order {
  int64_t with_order = 0;   // lists with several scores
  int64_t reversed = 0;     // of these, lists whose first hypothesis has the worst score
  int64_t with_choice = 0;  // lists with different hypotheses
  bool wrong_way() const { return 2 * reversed > with_order; }
};

Order order_of(const RescoredLists& lists) {
  Order o;
  for (const NBestList& list : lists.lists) {
    const auto [low, high] =
        std::ranges::minmax(list.hypotheses, {}, [](const NBestHypothesis& h) { return h.score; });
    if (std::ranges::any_of(list.hypotheses, [&](const NBestHypothesis& h) {
          return h.words != list.hypotheses.front().words;
        }))
      ++o.with_choice;
    if (low.score == high.score) continue;
    ++o.with_order;
    if (list.hypotheses.front().score == low.score) ++o.reversed;
  }
  return o;
}

std::string rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

constexpr double kOtherScale = 10;  // scores that are that much wider belong to another scale
constexpr int64_t kFewGroups = 5;   // intervals that are drawn from fewer are too narrow

}  // namespace

void warn_of_order(const RescoreOptions& o, const RescoredLists& lists,
                   const RescoredLists* other) {
  const Order order = order_of(lists);
  const auto [with_order, reversed, with_choice] = order;
  if (with_choice == 0)
    std::fprintf(
        stderr,
        "lm_rescore: warning: no list of %s has two different hypotheses: there is nothing "
        "to choose\n",
        lists.file.c_str());
  else if (with_order == 0)
    std::fprintf(stderr,
                 "lm_rescore: warning: the hypotheses of each list of %s have one score: the first "
                 "of each list counts as the first pass\n",
                 lists.file.c_str());
  const int64_t unordered = lists.out_of_order();
  if (!order.wrong_way()) {
    if (unordered > 0)
      std::fprintf(stderr,
                   "lm_rescore: %s: in %lld of %lld lists the first hypothesis does not have the "
                   "best score; the first pass is the hypothesis with the best score\n",
                   lists.file.c_str(), static_cast<long long>(unordered),
                   static_cast<long long>(lists.lists.size()));
    return;
  }
  std::string advice =
      o.nbest_cost ? "are these no costs? then " : "are these costs, as Kaldi's? then ";
  const bool alone = other != nullptr && !order_of(*other).wrong_way();
  if (alone)
    advice += concat("change the sign of the scores in this file: --nbest-cost holds for ",
                     other->file, " too, whose scores run the right way");
  else
    advice += o.nbest_cost ? "leave out --nbest-cost" : "give --nbest-cost";
  const std::string said =
      concat("lm_rescore: ", lists.file, ": in ", reversed, " of ", with_order,
             " lists the first hypothesis has the worst score; ", advice, "\n");
  std::fputs(said.c_str(), stderr);
}

void warn_of_scales(const RescoredLists& reported, const RescoredLists& tuning) {
  const double own = first_pass_spread(reported.lists), tuned = first_pass_spread(tuning.lists);
  if (own <= 0 || tuned <= 0 || std::max(own, tuned) < kOtherScale * std::min(own, tuned)) return;
  const std::string said = concat(
      "lm_rescore: warning: the first-pass scores within lists spread by ", rounded(tuned), " in ",
      tuning.file, " and by ", rounded(own), " in ", reported.file,
      ": lambda and mu, which are found on the former, do not fit the latter. Give lists whose "
      "scores have one scale\n");
  std::fputs(said.c_str(), stderr);
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
    std::fprintf(
        stderr,
        "lm_rescore: warning: %lld of %lld lists of %s repeat another list under another "
        "name, hypotheses and scores: intervals and tests take them as independent and are "
        "too sure. Leave them out, or name the lists that belong together with --group-by\n",
        static_cast<long long>(repeated), static_cast<long long>(lists.lists.size()),
        lists.file.c_str());
  const auto count = static_cast<int64_t>(std::ranges::max(groups)) + 1;
  if (o.group_by != "utterance" && count < kFewGroups)
    std::fprintf(
        stderr,
        "lm_rescore: warning: --group-by %s makes %lld groups: intervals that are drawn from "
        "fewer than %lld are too narrow\n",
        o.group_by.c_str(), static_cast<long long>(count), static_cast<long long>(kFewGroups));
}

namespace {

constexpr double kFits = 0.25;       // least part of the words that a reference shares with a text
constexpr double kMostUnlike = 0.1;  // part of the words that may be in other utterances
constexpr int64_t kTenth = 10;       // lists of other names count from a tenth of all lists on

constexpr size_t kCommonHypothesis = 100;  // a hypothesis of more lists does not tell lists apart

using Words = std::vector<std::string_view>;

Words sorted_words(const std::string& text) {
  Words words;
  split_words(text, words);
  std::ranges::sort(words);
  return words;
}

// 2 * common / (words of both): 1 for the same words in any order, and for two texts without words.
double fit(const Words& a, const Words& b) {
  if (a.empty() && b.empty()) return 1;
  Words common;
  std::ranges::set_intersection(a, b, std::back_inserter(common));
  return 2 * static_cast<double>(common.size()) / static_cast<double>(a.size() + b.size());
}

// The different hypotheses of each list.
std::vector<std::set<std::string_view>> different_hypotheses(const RescoredLists& lists) {
  std::vector<std::set<std::string_view>> all;
  for (const NBestList& list : lists.lists) {
    all.emplace_back();
    for (const NBestHypothesis& h : list.hypotheses) all.back().insert(h.words);
  }
  return all;
}

}  // namespace

HeardTexts heard_in(const RescoredLists& lists) {
  HeardTexts heard{.file = lists.file, .of_utterance = {}};
  for (const NBestList& list : lists.lists) {
    heard.of_utterance.emplace_back();
    for (const NBestHypothesis& h : list.hypotheses) heard.of_utterance.back().push_back(h.words);
  }
  return heard;
}

void warn_of_other_words(const HeardTexts& heard, const RescoredLists& lists,
                         const std::string& reference) {
  std::vector<Words> references;
  for (const std::string& text : lists.references) references.push_back(sorted_words(text));
  size_t unlike = 0, first = 0, unlike_words = 0, all_words = 0;
  for (size_t i = 0; i < references.size(); ++i) {
    double own = 0, other = 0;
    size_t longest = references[i].size();
    for (const std::string& text : heard.of_utterance[i]) {
      const Words words = sorted_words(text);
      longest = std::max(longest, words.size());
      own = std::max(own, fit(references[i], words));
      if (i > 0) other = std::max(other, fit(references[i - 1], words));
      if (i + 1 < references.size()) other = std::max(other, fit(references[i + 1], words));
    }
    all_words += longest;
    if (own >= kFits && own >= other) continue;
    if (unlike++ == 0) first = i;
    unlike_words += longest;
  }
  const double part = static_cast<double>(unlike_words) / static_cast<double>(all_words);
  if (unlike == 0 || part <= kMostUnlike) return;
  const std::string said = concat(
      "lm_rescore: warning: ", reference, " does not fit ", heard.file, ": in ", unlike, " of ",
      references.size(), " utterances, with ", fixed(100 * part, 0),
      "% of the words, less than a quarter of the words is the same, or the reference before or "
      "after fits better. The first is ",
      quote(lists.lists[first].utterance), ": reference ", quote(lists.references[first]),
      ", recognised ", quote(heard.of_utterance[first].front()),
      ". Are both written alike, in the same case, and of the same utterances?\n");
  std::fputs(said.c_str(), stderr);
}

void warn_of_same_lists(const RescoredLists& reported, const RescoredLists& tuning) {
  const auto own = different_hypotheses(reported), tuned = different_hypotheses(tuning);
  std::map<std::string_view, std::vector<size_t>> lists_with;  // of --tune-nbest, by a hypothesis
  for (size_t i = 0; i < tuned.size(); ++i)
    for (const std::string_view words : tuned[i]) lists_with[words].push_back(i);
  const std::set<std::string_view> references(tuning.references.begin(), tuning.references.end());
  int64_t same = 0, same_named = 0, same_references = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    std::map<size_t, size_t> common;  // hypotheses, by the list of --tune-nbest
    for (const std::string_view words : own[i])
      if (const auto found = lists_with.find(words);
          found != lists_with.end() && found->second.size() <= kCommonHypothesis)
        for (const size_t list : found->second) ++common[list];
    bool is_same = false, is_named = false;
    for (const auto& [list, count] : common) {
      if (4 * count < 3 * std::min(own[i].size(), tuned[list].size())) continue;
      is_same = true;
      is_named = is_named || tuning.lists[list].utterance == reported.lists[i].utterance;
    }
    same += is_same ? 1 : 0;
    same_named += is_named ? 1 : 0;
    same_references += references.contains(reported.references[i]) ? 1 : 0;
  }
  const int64_t all = std::ssize(own);
  const int64_t count = kTenth * same >= all ? same : same_named;
  if (count > 0)
    std::fprintf(
        stderr,
        "warning: lambda is found on the very lists of --nbest: %lld of the %lld lists of "
        "%s are in %s too, with three quarters of their hypotheses or more, so that their figures "
        "are better than those of other lists would be\n",
        static_cast<long long>(count), static_cast<long long>(all), reported.file.c_str(),
        tuning.file.c_str());
  else if (2 * same_references >= all)
    std::fprintf(
        stderr,
        "warning: lambda is found on the sentences of --nbest: %lld of the %lld references "
        "of %s are in %s too, so that their figures are better than those of other "
        "sentences may be\n",
        static_cast<long long>(same_references), static_cast<long long>(all), reported.file.c_str(),
        tuning.file.c_str());
}

}  // namespace nine::app
