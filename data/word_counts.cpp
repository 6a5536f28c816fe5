#include "data/word_counts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/quote.h"
#include "data/text.h"

namespace nine {

void WordCounts::add(std::string_view word, int64_t count) {
  const auto id = static_cast<size_t>(words.add(word));
  if (id == counts.size()) counts.push_back(0);
  require(!__builtin_add_overflow(counts[id], count, &counts[id]), "the counts of ", quote(word),
          " add up to more than a number of 64 bits holds");
}

void WordCounts::add_sentence(std::span<const std::string_view> sentence) {
  for (std::string_view word : sentence) add(word);
  tokens += std::ssize(sentence);
  ++sentences;
}

void WordCounts::add_sentence(std::string_view line) {
  for_each_word(line, [&](std::string_view word) {
    add(word);
    ++tokens;
  });
  ++sentences;
}

std::vector<int32_t> WordCounts::by_count() const {
  std::vector<int32_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return counts[static_cast<size_t>(a)] > counts[static_cast<size_t>(b)];
  });
  return order;
}

std::vector<int32_t> WordCounts::by_count_and_code_point() const {
  std::vector<int32_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  // The order of UTF-8 bytes is the order of code points.
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const int64_t count_a = counts[static_cast<size_t>(a)],
                  count_b = counts[static_cast<size_t>(b)];
    return count_a != count_b ? count_a > count_b : words.text(a) < words.text(b);
  });
  return order;
}

WordCounts count_words(const std::vector<std::string>& paths) {
  WordCounts counts;
  TextReader reader(paths);
  for (std::string_view line; reader.next_line(line);) counts.add_sentence(line);
  return counts;
}

WordCounts count_words_of_lines(std::span<const std::string> lines) {
  WordCounts counts;
  for (const std::string& line : lines) counts.add_sentence(line);
  return counts;
}

double unigram_perplexity(std::span<const int64_t> train, std::span<const int64_t> text) {
  double all = 0, tokens = 0, log_count = 0;
  for (size_t i = 0; i < train.size(); ++i) {
    const auto count = static_cast<double>(std::max<int64_t>(train[i], 1)),
               occurs = static_cast<double>(text[i]);
    all += count;
    tokens += occurs;
    log_count += occurs * std::log(count);
  }
  return all * std::exp(-log_count / tokens);
}

}  // namespace nine
