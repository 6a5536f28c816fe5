#include "data/bpe_merges.h"

#include <algorithm>
#include <array>
#include <queue>
#include <utility>

#include "core/error.h"
#include "data/bpe_words.h"
#include "data/string_table.h"

namespace nine {

namespace {

class MergeLearner {
 public:
  MergeLearner(const CountedWords& words, std::span<const unsigned char> alphabet,
               const BpeMergeLearning& how)
      : how_(how) {
    std::array<int32_t, 256> symbol_of{};
    for (unsigned char byte : alphabet)
      symbol_of[byte] = symbols_.add(std::string(1, static_cast<char>(byte)));
    double total = 0;
    words([&](std::string_view text, int64_t count) {
      total += static_cast<double>(count) * static_cast<double>(text.size());
      if (text.size() < 2) return;  // it has no pair
      for (char c : text) words_.add_symbol(symbol_of[static_cast<uint8_t>(c)]);
      words_.end_word();
      frequencies_.push_back(count);
    });
    require(total < 0x1p62, "[learn_merges] ", total, " bytes are more than can be counted");
    for (int32_t word = 0; word < words_.size(); ++word) {
      const auto s = words_.symbols(word);
      for (size_t i = 1; i < s.size(); ++i) change(s[i - 1], s[i], word, 1);
    }
    offer_raised();
  }

  BpeMerges run() {
    BpeMerges out;
    while (symbols_.size() < how_.symbols && !heap_.empty()) {
      Entry entry = heap_.top();
      heap_.pop();
      const int64_t count = counts_[static_cast<size_t>(entry.pair)];
      if (entry.count != count) {
        entry.count = count;
        heap_.push(entry);
        continue;
      }
      if (count < how_.min_frequency) break;
      const int32_t left = pairs_.first(entry.pair), right = pairs_.second(entry.pair);
      const int32_t result = symbols_.add(concat(symbols_.text(left), symbols_.text(right)));
      out.merges.push_back({left, right, result});
      ++merge_;
      const auto places = std::exchange(places_[static_cast<size_t>(entry.places)], {});
      for (int32_t word : places) merge_in(word, out.merges.back());
      offer_raised();
    }
    for (int32_t symbol = 0; symbol < symbols_.size(); ++symbol)
      out.symbols.emplace_back(symbols_.text(symbol));
    return out;
  }

 private:
  /// A pair with words that have it. If a symbol is made a second time, by another pair, its pairs
  /// have several entries.
  struct Entry {
    int64_t count;
    int32_t pair, places;
  };
  struct After {
    const PairTable* pairs;
    bool operator()(const Entry& a, const Entry& b) const {
      if (a.count != b.count) return a.count < b.count;
      if (a.pair == b.pair) return a.places > b.places;
      const std::pair of_a(pairs->first(a.pair), pairs->second(a.pair));
      return of_a > std::pair(pairs->first(b.pair), pairs->second(b.pair));
    }
  };

  int64_t frequency(int32_t word) const { return frequencies_[static_cast<size_t>(word)]; }

  /// Adds or removes one occurrence of a pair in a word.
  void change(int32_t left, int32_t right, int32_t word, int32_t by) {
    const int32_t pair = pairs_.add(left, right);
    const auto p = static_cast<size_t>(pair);
    if (p == counts_.size()) {
      counts_.push_back(0);
      raised_in_.push_back(-1);
      newest_.push_back(-1);
    }
    counts_[p] += by * frequency(word);
    if (by < 0) return;
    if (raised_in_[p] != merge_) {
      raised_in_[p] = merge_;
      newest_[p] = static_cast<int32_t>(places_.size());
      places_.emplace_back();
      raised_.push_back(pair);
    }
    std::vector<int32_t>& places = places_[static_cast<size_t>(newest_[p])];
    if (places.empty() || places.back() != word) places.push_back(word);
  }

  /// Makes entries of the pairs whose counts this merge raised.
  void offer_raised() {
    std::vector<Entry> entries;
    for (int32_t pair : raised_) {
      const auto p = static_cast<size_t>(pair);
      if (counts_[p] > 0) entries.push_back({counts_[p], pair, newest_[p]});
    }
    raised_.clear();
    if (heap_.empty()) {
      heap_ = Heap(After{&pairs_}, std::move(entries));
    } else {
      for (const Entry& entry : entries) heap_.push(entry);
    }
  }

  void merge_in(int32_t word, const BpeMerge& merge) {
    const auto s = words_.symbols(word);
    size_t size = 0;
    for (size_t i = 0; i < s.size(); ++i, ++size) {
      if (s[i] != merge.left || i + 1 == s.size() || s[i + 1] != merge.right) {
        s[size] = s[i];
        continue;
      }
      if (size > 0) {
        change(s[size - 1], merge.left, word, -1);
        change(s[size - 1], merge.result, word, 1);
      }
      if (i + 2 < s.size()) {
        change(merge.right, s[i + 2], word, -1);
        change(merge.result, s[i + 2], word, 1);
      }
      s[size] = merge.result;
      ++i;
    }
    words_.shorten(word, size);
  }

  using Heap = std::priority_queue<Entry, std::vector<Entry>, After>;

  const BpeMergeLearning how_;
  std::vector<int64_t> frequencies_;  // of the words
  StringTable symbols_;
  BpeWords words_;
  PairTable pairs_;
  std::vector<int64_t> counts_;               // by pair
  std::vector<int32_t> raised_in_;            // by pair: the last merge that raised its count
  std::vector<int32_t> newest_;               // by pair: its newest list of places_
  std::vector<std::vector<int32_t>> places_;  // lists of words
  std::vector<int32_t> raised_;               // pairs whose count this merge raised
  Heap heap_{After{&pairs_}};
  int32_t merge_ = 0;
};

}  // namespace

BpeMerges learn_merges(const CountedWords& words, std::span<const unsigned char> alphabet,
                       const BpeMergeLearning& how) {
  require(alphabet.size() == 256, "[learn_merges] an alphabet of ", alphabet.size(), " bytes");
  require(how.symbols >= 256 && how.symbols < (1 << 24), "[learn_merges] ", how.symbols,
          " symbols: give 256 to ", (1 << 24) - 1);
  require(how.min_frequency >= 1, "[learn_merges] a minimum frequency of ", how.min_frequency,
          ": give 1 or more");
  return MergeLearner(words, alphabet, how).run();
}

BpeMerges learn_merges(const WordCounts& words, std::span<const unsigned char> alphabet,
                       const BpeMergeLearning& how) {
  return learn_merges(
      [&](const auto& f) {
        for (int32_t word = 0; word < words.words.size(); ++word)
          f(words.words.text(word), words.counts[static_cast<size_t>(word)]);
      },
      alphabet, how);
}

}  // namespace nine
