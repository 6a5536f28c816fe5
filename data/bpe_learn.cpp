#include "data/bpe_learn.h"

#include <algorithm>
#include <queue>
#include <span>
#include <utility>

#include "core/error.h"
#include "data/bpe_words.h"
#include "data/unicode.h"

namespace nine {

namespace {

using Symbols = std::vector<int32_t>;

/// A pair of neighbouring symbols. Frequencies follow subword-nmt exactly, including its
/// inaccuracies: it works on the frequent pairs (`kept`), puts pairs below a threshold aside, and
/// counts a pair from zero when it takes the pair up again.
struct PairCount {
  int64_t count = 0;  // subword-nmt's `stats`, while the pair is kept
  int64_t aside = 0;  // subword-nmt's `big_stats`
  bool kept = false;
  bool known = false;      // true if the pair has a count in `aside`
  int32_t raised_in = -2;  // number of the merge that last raised the count
  // subword-nmt's `indices`: a word, and the change of the pair's occurrences in it.
  std::vector<std::pair<int32_t, int32_t>> words;
};

struct SymbolKind {
  bool has_space = false;
  bool inside_a_word = false, ends_a_word = false;  // where the symbol, a character of the text,
                                                    // occurs
};

bool has_space(std::string_view text) {
  for (; !text.empty(); text.remove_prefix(utf8_length(text[0])))
    if (space_at_start(text) > 0) return true;
  return false;
}

class BpeLearner {
 public:
  BpeLearner(const WordCounts& text, const BpeLearning& how)
      : how_(how), frequencies_(text.counts) {
    for (int32_t word = 0; word < text.words.size(); ++word) add_word(text.words.text(word));
    occurrences_.resize(frequencies_.size());
    double symbols = 0;
    for (size_t word = 0; word < frequencies_.size(); ++word)
      symbols +=
          static_cast<double>(frequencies_[word]) * words_.length(static_cast<int32_t>(word));
    require(symbols < 0x1p62, "[learn_bpe] ", symbols, " characters are more than can be counted");
    count_pairs();
  }

  LearnedBpe run() {
    LearnedBpe out{.codes = "#version: 0.2\n"};
    for (const SymbolKind& kind : kinds_) {
      out.inner_characters += kind.inside_a_word;
      out.final_characters += kind.ends_a_word;
    }
    const int64_t wanted = how_.total_symbols
                               ? how_.merges - out.inner_characters - out.final_characters
                               : how_.merges;
    threshold_ = static_cast<double>(most_frequent_kept_count()) / 10;
    rebuild_heap(0);
    for (merge_ = 0; merge_ < wanted; ++merge_) {
      const int32_t best = next_pair();
      if (best < 0 || at(best).count < how_.min_frequency) {
        out.ran_out = true;
        break;
      }
      out.codes +=
          concat(symbols_.text(pairs_.first(best)), ' ', symbols_.text(pairs_.second(best)), '\n');
      merge(best);
      if (merge_ % 100 == 0) put_aside();
    }
    out.merges = merge_;
    return out;
  }

 private:
  struct Entry {
    int64_t count;
    int32_t pair;
  };
  /// True if `a` comes after `b`: by count, then by the texts of the left and the right symbol.
  /// Bytes of UTF-8 have the order of code points.
  struct After {
    const BpeLearner* learner;
    bool operator()(const Entry& a, const Entry& b) const {
      if (a.count != b.count) return a.count < b.count;
      return learner->texts(a.pair) < learner->texts(b.pair);
    }
  };

  PairCount& at(int32_t pair) { return counts_[static_cast<size_t>(pair)]; }
  std::pair<std::string_view, std::string_view> texts(int32_t pair) const {
    return {symbols_.text(pairs_.first(pair)), symbols_.text(pairs_.second(pair))};
  }

  int32_t add_symbol(const std::string& text) {
    const int32_t id = symbols_.add(text);
    if (static_cast<size_t>(id) == kinds_.size()) kinds_.push_back({.has_space = has_space(text)});
    return id;
  }

  void add_word(std::string_view word) {
    for (size_t i = 0; i < word.size();) {
      std::string text(word.substr(i, utf8_length(word[i])));
      i += text.size();
      const bool last = i == word.size();
      const int32_t symbol = add_symbol(last ? text + "</w>" : text);
      SymbolKind& kind = kinds_[static_cast<size_t>(symbol)];
      (last ? kind.ends_a_word : kind.inside_a_word) = true;
      words_.add_symbol(symbol);
    }
    words_.end_word();
  }

  void count_pairs() {
    for (int32_t word = 0; word < std::ssize(frequencies_); ++word) {
      const auto s = words_.symbols(word);
      for (size_t i = 1; i < s.size(); ++i) change(s[i - 1], s[i], word, 1);
    }
    for (int32_t pair : kept_) {
      at(pair).aside = at(pair).count;
      at(pair).known = true;
    }
  }

  /// Adds or removes one occurrence of a pair in a word.
  void change(int32_t first, int32_t second, int32_t word, int32_t by) {
    const int32_t pair = pairs_.add(first, second);
    if (static_cast<size_t>(pair) == counts_.size()) counts_.emplace_back();
    PairCount& c = at(pair);
    keep(pair);
    c.count += by * frequencies_[static_cast<size_t>(word)];
    if (!c.words.empty() && c.words.back().first == word) {
      c.words.back().second += by;
    } else {
      c.words.emplace_back(word, by);
    }
    if (by > 0 && c.raised_in != merge_) {
      c.raised_in = merge_;
      raised_.push_back(pair);
    }
  }

  void keep(int32_t pair) {
    PairCount& c = at(pair);
    if (c.kept) return;
    c.kept = true;
    c.count = 0;
    kept_.push_back(pair);
  }

  int64_t most_frequent_kept_count() const {
    int64_t most = 0;
    for (int32_t pair : kept_) most = std::max(most, counts_[static_cast<size_t>(pair)].count);
    return most;
  }

  /// Puts aside the kept pairs whose count is below the threshold.
  void put_aside() {
    std::erase_if(kept_, [&](int32_t pair) {
      PairCount& c = at(pair);
      if (static_cast<double>(c.count) >= threshold_) return false;
      c.aside = c.count < 0 ? c.aside + c.count : c.count;
      c.known = true;
      c.kept = false;
      return true;
    });
  }

  /// Rebuilds the heap. Afterwards every kept pair with a count of at least `lowest_` has an entry
  /// with its count or a higher count.
  void rebuild_heap(double lowest) {
    lowest_ = lowest;
    std::vector<Entry> entries;
    for (int32_t pair : kept_)
      if (static_cast<double>(at(pair).count) >= lowest) entries.push_back({at(pair).count, pair});
    heap_ = Heap(After{this}, std::move(entries));
  }

  void push(int32_t pair) {
    if (static_cast<double>(at(pair).count) >= lowest_) heap_.push({at(pair).count, pair});
  }

  /// Returns the first of the kept pairs in the order of the heap, or -1.
  int32_t top() {
    while (!heap_.empty()) {
      const Entry entry = heap_.top();
      const PairCount& c = at(entry.pair);
      if (c.kept && c.count == entry.count) return entry.pair;
      heap_.pop();
      if (c.kept && c.count < entry.count) push(entry.pair);
    }
    return -1;
  }

  /// Returns the pair to merge, or -1. If the best kept pair is below the threshold, takes up the
  /// pairs that were put aside.
  int32_t next_pair() {
    const int32_t best = top();
    if (merge_ == 0 || (best >= 0 && static_cast<double>(at(best).count) >= threshold_))
      return best;
    put_aside();
    for (int32_t pair = 0; pair < std::ssize(counts_); ++pair) {
      PairCount& c = at(pair);
      if (!c.known) continue;
      keep(pair);
      c.count = c.aside;
    }
    const int64_t most = most_frequent_kept_count();
    threshold_ = static_cast<double>(most) * merge_ / (static_cast<double>(merge_) + 10000.0);
    put_aside();
    rebuild_heap(threshold_);
    return top();
  }

  void merge(int32_t pair) {
    const int32_t first = pairs_.first(pair), second = pairs_.second(pair);
    const int32_t merged = add_symbol(concat(symbols_.text(first), symbols_.text(second)));
    const auto words = std::exchange(at(pair).words, {});
    raised_.clear();
    for (const auto& [word, by] : words) occurrences_[static_cast<size_t>(word)] += by;
    for (const auto& [word, by] : words) {
      if (std::exchange(occurrences_[static_cast<size_t>(word)], 0) < 1) continue;
      const auto now = words_.symbols(word);
      old_.assign(now.begin(), now.end());
      rewrite(word, first, second);
      take_off(word, first, second);
      add_new(word, merged);
    }
    at(pair).count = 0;
    for (int32_t raised : raised_) push(raised);
  }

  /// Joins the occurrences of a pair in a word, from left to right.
  void rewrite(int32_t word, int32_t first, int32_t second) {
    const auto s = words_.symbols(word);
    size_t size = 1;   // number of symbols written
    size_t taken = 0;  // bytes of the last old symbol that already belong to a pair
    for (size_t i = 1; i < old_.size(); ++i) {
      if (!ends_with(old_[i - 1], first, taken) || !starts_with(old_[i], second)) {
        s[size++] = old_[i];
        taken = 0;
        continue;
      }
      taken = symbols_.text(second).size();
      s[size - 1] = add_symbol(concat(symbols_.text(s[size - 1]), symbols_.text(old_[i])));
    }
    words_.shorten(word, size);
  }

  // subword-nmt finds pairs by a regular expression that takes any white space for the border
  // between two symbols. For example, a symbol "a<NBSP>b" starts with "a" and ends with "b" for it.
  bool ends_with(int32_t symbol, int32_t part, size_t taken) const {
    if (symbol == part) return taken == 0;
    if (!kinds_[static_cast<size_t>(symbol)].has_space) return false;
    const std::string_view text = symbols_.text(symbol), end = symbols_.text(part);
    if (!text.ends_with(end)) return false;
    const size_t start = text.size() - end.size();
    return start >= taken && space_at_end(text.substr(0, start)) > 0;
  }
  bool starts_with(int32_t symbol, int32_t part) const {
    if (symbol == part) return true;
    if (!kinds_[static_cast<size_t>(symbol)].has_space) return false;
    const std::string_view text = symbols_.text(symbol), start = symbols_.text(part);
    return text.starts_with(start) && space_at_start(text.substr(start.size())) > 0;
  }

  /// Subtracts the pairs that the occurrences of a pair formed with their neighbours.
  void take_off(int32_t word, int32_t first, int32_t second) {
    const size_t n = old_.size();
    const auto is_pair = [&](size_t i) {
      return i + 1 < n && old_[i] == first && old_[i + 1] == second;
    };
    for (size_t i = 0; i + 1 < n; ++i) {
      if (!is_pair(i)) continue;
      if (i > 0) change(old_[i - 1], old_[i], word, -1);
      // In A B A B the pair B A is subtracted once, with the second A B.
      if (i + 2 < n && !is_pair(i + 2)) change(old_[i + 1], old_[i + 2], word, -1);
      ++i;
    }
  }

  /// Adds the pairs of the merged symbol and its neighbours. As in subword-nmt, it also adds the
  /// pairs of an equal symbol that was already in the word.
  void add_new(int32_t word, int32_t merged) {
    const auto s = words_.symbols(word);
    for (size_t i = 0; i < s.size(); ++i) {
      if (s[i] != merged) continue;
      if (i > 0) change(s[i - 1], s[i], word, 1);
      if (i + 1 < s.size() && s[i + 1] != merged) change(s[i], s[i + 1], word, 1);
    }
  }

  using Heap = std::priority_queue<Entry, std::vector<Entry>, After>;

  const BpeLearning how_;
  const std::vector<int64_t>& frequencies_;  // of the words
  StringTable symbols_;
  std::vector<SymbolKind> kinds_;  // by symbol
  BpeWords words_;
  PairTable pairs_;
  std::vector<PairCount> counts_;  // by pair
  std::vector<int32_t> kept_;
  std::vector<int32_t> raised_;       // pairs whose count this merge raised
  std::vector<int32_t> occurrences_;  // by word: occurrences of the pair that is merged; otherwise
                                      // 0
  Symbols old_;
  Heap heap_{After{this}};
  double threshold_ = 0, lowest_ = 0;
  int32_t merge_ = -1;  // -1 while the text is counted
};

}  // namespace

LearnedBpe learn_bpe(const WordCounts& text, const BpeLearning& how) {
  require(how.merges >= 0, "[learn_bpe] ", how.merges, " merges: give 0 or more");
  require(how.min_frequency >= 1, "[learn_bpe] a minimum frequency of ", how.min_frequency,
          ": give 1 or more");
  return BpeLearner(text, how).run();
}

}  // namespace nine
