#include "data/measures/list_warnings.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/number_format.h"
#include "core/quote.h"
#include "data/bpe.h"
#include "data/measures/rescoring.h"
#include "data/text.h"

namespace nine {
namespace {

constexpr double kFits = 0.25;       // least part of the words that a reference shares with a text
constexpr double kMostUnlike = 0.1;  // part of the words that may be in other utterances
constexpr double kOtherScale = 10;   // scores that are that much wider belong to another scale
constexpr int64_t kTenth = 10;       // lists of other names count from a tenth of all lists on
constexpr size_t kCommonHypothesis = 100;  // a hypothesis of more lists does not tell lists apart

using Words = std::vector<std::string_view>;

std::string rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

// How the first hypotheses stand to the others.
struct Order {
  int64_t with_order = 0;   // lists with several scores
  int64_t reversed = 0;     // of these, lists whose first hypothesis has the worst score
  int64_t with_choice = 0;  // lists with different hypotheses
  bool wrong_way() const { return 2 * reversed > with_order; }
};

Order order_of(std::span<const NBestList> lists) {
  Order o;
  for (const NBestList& list : lists) {
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
std::vector<std::set<std::string_view>> different_hypotheses(std::span<const NBestList> lists) {
  std::vector<std::set<std::string_view>> all;
  for (const NBestList& list : lists) {
    all.emplace_back();
    for (const NBestHypothesis& h : list.hypotheses) all.back().insert(h.words);
  }
  return all;
}

HeardTexts heard_in(const NamedLists& lists) {
  HeardTexts heard{.name = lists.name, .of_utterance = {}};
  for (const NBestList& list : lists.lists) {
    heard.of_utterance.emplace_back();
    for (const NBestHypothesis& h : list.hypotheses) heard.of_utterance.back().push_back(h.words);
  }
  return heard;
}

// Collects messages that are not empty.
class Warnings {
 public:
  void add(std::string message) {
    if (!message.empty()) all.push_back(std::move(message));
  }
  std::vector<std::string> all;
};

void add_own_warnings(const NamedLists& lists, const std::string& advice, Warnings& out) {
  const Order order = order_of(lists.lists);
  if (order.with_choice == 0)
    out.add(concat("no list of ", lists.name,
                   " has two different hypotheses: there is nothing to choose"));
  else if (order.with_order == 0)
    out.add(concat("the hypotheses of each list of ", lists.name,
                   " have one score: the first of each list counts as the first pass"));
  if (order.wrong_way())
    out.add(concat(lists.name, ": in ", order.reversed, " of ", order.with_order,
                   " lists the first hypothesis has the worst score; ", advice));
  if (lists.references.empty()) return;
  out.add(reference_warning(heard_in(lists), lists));
  out.add(
      subword_warning(all_texts(lists.lists), lists.name, lists.references, lists.references_name));
}

std::string scale_warning(const NamedLists& lists, const NamedLists& tuning) {
  const double own = first_pass_spread(lists.lists), tuned = first_pass_spread(tuning.lists);
  if (own <= 0 || tuned <= 0 || std::max(own, tuned) < kOtherScale * std::min(own, tuned))
    return "";
  return concat("the first-pass scores within lists spread by ", rounded(tuned), " in ",
                tuning.name, " and by ", rounded(own), " in ", lists.name,
                ": lambda and mu, which are found on the former, do not fit the latter. Give lists "
                "whose scores have one scale");
}

std::string same_lists_warning(const NamedLists& reported, const NamedLists& tuning) {
  const auto own = different_hypotheses(reported.lists), tuned = different_hypotheses(tuning.lists);
  std::map<std::string_view, std::vector<size_t>> lists_with;  // of `tuning`, by a hypothesis
  for (size_t i = 0; i < tuned.size(); ++i)
    for (const std::string_view words : tuned[i]) lists_with[words].push_back(i);
  const std::set<std::string_view> references(tuning.references.begin(), tuning.references.end());
  int64_t same = 0, same_named = 0, same_references = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    std::map<size_t, size_t> common;  // hypotheses, by the list of `tuning`
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
    if (!reported.references.empty())
      same_references += references.contains(reported.references[i]) ? 1 : 0;
  }
  const int64_t all = std::ssize(own), count = kTenth * same >= all ? same : same_named;
  if (count > 0)
    return concat("lambda is found on the very lists that it chooses from: ", count, " of the ",
                  all, " lists of ", reported.name, " are in ", tuning.name,
                  " too, with three quarters of their hypotheses or more, so that their figures "
                  "are better than those of other lists would be");
  if (2 * same_references >= all)
    return concat("lambda is found on the sentences that it chooses from: ", same_references,
                  " of the ", all, " references of ", reported.name, " are in ", tuning.name,
                  " too, so that their figures are better than those of other sentences may be");
  return "";
}

}  // namespace

bool has_worst_first(std::span<const NBestList> lists) { return order_of(lists).wrong_way(); }

std::vector<std::string> list_warnings(const NamedLists& lists, const std::string& advice,
                                       const NamedLists* tuning, const std::string& tuning_advice) {
  Warnings out;
  add_own_warnings(lists, advice, out);
  if (tuning != nullptr) {
    add_own_warnings(*tuning, tuning_advice, out);
    out.add(same_lists_warning(lists, *tuning));
    out.add(scale_warning(lists, *tuning));
  }
  return std::move(out.all);
}

std::string reference_warning(const HeardTexts& heard, const NamedLists& lists) {
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
  if (unlike == 0 || part <= kMostUnlike) return "";
  return concat(
      lists.references_name, " does not fit ", heard.name, ": in ", unlike, " of ",
      references.size(), " utterances, with ", fixed(100 * part, 0),
      "% of the words, less than a quarter of the words is the same, or the reference before or "
      "after fits better. The first is ",
      quote(lists.lists[first].utterance), ": reference ", quote(lists.references[first]),
      ", recognised ", quote(heard.of_utterance[first].front()),
      ". Are both written alike, in the same case, and of the same utterances?");
}

}  // namespace nine
