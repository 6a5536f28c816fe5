#include "data/measures/posteriors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "core/error.h"
#include "data/measures/word_errors.h"
#include "data/text.h"

namespace nine {
namespace {

constexpr double kLeast = 1e-7;        // of a confidence, as in sclite
constexpr double kSameErrors = 1e-12;  // relative
constexpr size_t kBitsOfPattern = 64;

using Ids = std::vector<uint32_t>;

// Numbers the words of a list.
class WordIds {
 public:
  Ids of(std::string_view text) {
    Ids ids;
    for_each_word(text, [&](std::string_view word) {
      ids.push_back(numbers_.emplace(word, static_cast<uint32_t>(numbers_.size())).first->second);
    });
    return ids;
  }
  size_t size() const { return numbers_.size(); }

 private:
  std::unordered_map<std::string_view, uint32_t> numbers_;
};

int64_t distance_by_table(const Ids& a, const Ids& b) {
  std::vector<int64_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = static_cast<int64_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int64_t diagonal = row[0];
    row[0] = static_cast<int64_t>(i);
    for (size_t j = 1; j < row.size(); ++j) {
      const int64_t both = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({both, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// Computes distances from one text of at most 64 words, a column of the table at a time, as bits
// (Myers, 1999, in Hyyrö's form for whole texts).
class BitDistance {
 public:
  explicit BitDistance(size_t words) : places_(words, 0) {}
  void set_pattern(const Ids& pattern) {
    for (const uint32_t word : pattern_) places_[word] = 0;
    pattern_ = pattern;
    for (size_t i = 0; i < pattern.size(); ++i) places_[pattern[i]] |= uint64_t{1} << i;
  }
  int64_t to(const Ids& text) const {
    if (pattern_.empty()) return std::ssize(text);
    const uint64_t last = uint64_t{1} << (pattern_.size() - 1);
    uint64_t more = ~uint64_t{0}, less = 0;  // where a cell is larger or smaller than the one above
    int64_t distance = std::ssize(pattern_);
    for (const uint32_t word : text) {
      const uint64_t equal = places_[word], down = equal | less;
      const uint64_t across = (((equal & more) + more) ^ more) | equal;
      uint64_t larger = less | ~(across | more), smaller = more & across;
      distance += (larger & last) != 0 ? 1 : 0;
      distance -= (smaller & last) != 0 ? 1 : 0;
      larger = (larger << 1) | 1;
      smaller <<= 1;
      more = smaller | ~(down | larger);
      less = larger & down;
    }
    return distance;
  }

 private:
  std::vector<uint64_t> places_;
  Ids pattern_;
};

}  // namespace

std::vector<double> posteriors(std::span<const double> scores, double scale) {
  require(!scores.empty(), "[posteriors] a list has no scores");
  const double largest = *std::ranges::max_element(scores);
  std::vector<double> all(scores.size(), 0);
  if (std::isinf(largest)) {
    all[0] = 1;
    return all;
  }
  double sum = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!std::isinf(scores[i])) all[i] = std::exp(scale * (scores[i] - largest));
    sum += all[i];
  }
  for (double& p : all) p /= sum;
  return all;
}

int64_t word_distance(std::string_view a, std::string_view b) {
  WordIds ids;
  const Ids x = ids.of(a), y = ids.of(b);
  if (x.size() > kBitsOfPattern) return distance_by_table(x, y);
  BitDistance distance(ids.size());
  distance.set_pattern(x);
  return distance.to(y);
}

ListDistances::ListDistances(std::span<const std::string_view> hypotheses)
    : size_(hypotheses.size()) {
  WordIds ids;
  std::vector<Ids> texts;
  for (const std::string_view text : hypotheses) texts.push_back(ids.of(text));
  BitDistance from(ids.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    const bool bits = texts[i].size() <= kBitsOfPattern;
    if (bits) from.set_pattern(texts[i]);
    for (size_t j = 0; j < i; ++j)
      distances_.push_back(bits ? from.to(texts[j]) : distance_by_table(texts[i], texts[j]));
  }
}

ExpectedErrors ListDistances::least_expected_errors(std::span<const double> posteriors) const {
  require(size_ > 0 && size_ == posteriors.size(), "[least_expected_errors] ", size_,
          " hypotheses and ", posteriors.size(), " posteriors");
  std::vector<double> expected(size_, 0);
  size_t at = 0;
  for (size_t i = 0; i < size_; ++i)
    for (size_t j = 0; j < i; ++j, ++at) {
      expected[i] += posteriors[j] * static_cast<double>(distances_[at]);
      expected[j] += posteriors[i] * static_cast<double>(distances_[at]);
    }
  size_t best = 0;
  for (size_t i = 1; i < size_; ++i) {
    const double margin = kSameErrors * std::max(expected[i], expected[best]);
    if (expected[i] < expected[best] - margin ||
        (expected[i] <= expected[best] + margin && posteriors[i] > posteriors[best]))
      best = i;
  }
  return {best, expected[best]};
}

WordSupport::WordSupport(std::span<const std::string_view> hypotheses, size_t chosen) {
  std::vector<std::string_view> own, other;
  split_words(hypotheses[chosen], own);
  words_ = own.size();
  has_.assign(hypotheses.size() * words_, 0);
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    split_words(hypotheses[i], other);
    size_t word = 0;
    for (const Edit edit : align_words(own, other)) {
      if (edit == Edit::correct) has_[i * words_ + word] = 1;
      word += edit == Edit::insertion ? 0 : 1;
    }
  }
}

std::vector<double> WordSupport::confidences(std::span<const double> posteriors) const {
  require(words_ == 0 || posteriors.size() * words_ == has_.size(), "there are ", posteriors.size(),
          " posteriors for ", words_ == 0 ? 0 : has_.size() / words_, " hypotheses");
  std::vector<double> all(words_, 0);
  for (size_t i = 0; i < posteriors.size(); ++i)
    for (size_t word = 0; word < words_; ++word)
      if (has_[i * words_ + word] != 0) all[word] += posteriors[i];
  for (double& confidence : all) confidence = std::min(confidence, 1.0);  // rounding
  return all;
}

std::optional<double> normalised_cross_entropy(std::span<const ScoredWord> words) {
  const auto n = static_cast<double>(words.size()),
             right = static_cast<double>(std::ranges::count(words, true, &ScoredWord::correct));
  if (right == 0 || right == n) return std::nullopt;
  const double entropy = -right * std::log2(right / n) - (n - right) * std::log2(1 - right / n);
  double sum = entropy;
  for (const ScoredWord& word : words) {
    const double p = std::clamp(word.confidence, kLeast, 1 - kLeast);
    sum += std::log2(word.correct ? p : 1 - p);
  }
  return sum / entropy;
}

ConfidenceMap fit_confidences(std::span<const ScoredWord> words, int steps) {
  ConfidenceMap map{0.25, 0.75};  // at 0 and 1 a step would not move
  if (words.empty()) return {};
  for (int step = 0; step < steps; ++step) {
    double up = 0, up_right = 0, down = 0, down_right = 0;
    for (const ScoredWord& word : words) {
      const double high = word.confidence * (word.correct ? map.high : 1 - map.high),
                   low = (1 - word.confidence) * (word.correct ? map.low : 1 - map.low);
      if (high + low == 0) continue;
      const double share = high / (high + low);
      up += share;
      down += 1 - share;
      up_right += word.correct ? share : 0;
      down_right += word.correct ? 1 - share : 0;
    }
    if (up > 0) map.high = up_right / up;
    if (down > 0) map.low = down_right / down;
  }
  return map;
}

}  // namespace nine
