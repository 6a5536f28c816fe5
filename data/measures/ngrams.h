// N-grams of words or characters within a line, and how many n-grams two lines share. BLEU and chrF
// count these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nine {

/// A line cut into units, such as words. Unit i is the bytes begins[i] ... ends[i] - 1 of `text`.
/// So n consecutive units are one substring of `text`.
struct Units {
  std::string text;
  std::vector<size_t> begins, ends;

  size_t size() const { return begins.size(); }
  std::string_view unit(size_t i) const {
    return std::string_view(text).substr(begins[i], ends[i] - begins[i]);
  }
  /// Returns units i, ..., i + n - 1.
  std::string_view ngram(size_t i, size_t n) const {
    return std::string_view(text).substr(begins[i], ends[i + n - 1] - begins[i]);
  }
};

/// Returns the words of a line of valid UTF-8, joined by single spaces. Every kind of Unicode white
/// space separates words.
Units word_units(std::string_view line);
/// Returns `words`, which have no white space inside, joined by single spaces.
Units word_units(std::span<const std::string_view> words);
/// Returns the characters (code points) of a line without its white space.
Units character_units(std::string_view line);

/// The numbers of n-grams in two lines.
struct NgramCounts {
  int64_t hypothesis = 0, reference = 0;
  int64_t shared = 0;  ///< an n-gram counts as often as in the line where it occurs less often

  NgramCounts& operator+=(const NgramCounts& other);
};
/// Counts the n-grams of n >= 1 units.
NgramCounts count_ngrams(const Units& hypothesis, const Units& reference, size_t n);

/// Checks the numbers of lines. Error, which names `op`: no lines, or not one reference for each
/// hypothesis.
void require_pairs(std::string_view op, size_t hypotheses, size_t references);

}  // namespace nine
