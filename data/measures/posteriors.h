// Posterior probabilities of the hypotheses of a list, and what follows from them: the choice with
// the least expected word errors, the confidence of each word, and how good the confidences are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nine {

/// Returns exp(scale * score), normalised over the list. A score of -infinity has the posterior 0.
/// If all scores are -infinity, the first hypothesis has 1. Error: no score.
std::vector<double> posteriors(std::span<const double> scores, double scale);

/// Returns the least number of substitutions, deletions and insertions of words that turn one text
/// into the other (Levenshtein, 1966). Symmetric, so that a choice by it does not depend on which
/// text is the reference; sclite's alignment may have more errors.
int64_t word_distance(std::string_view a, std::string_view b);

/// A hypothesis and its expected word errors over its list.
struct ExpectedErrors {
  size_t hypothesis = 0;
  double errors = 0;
};
/// The word_distance() of each two hypotheses of a list.
class ListDistances {
 public:
  explicit ListDistances(std::span<const std::string_view> hypotheses);
  /// Returns the hypothesis with the least expected errors, the sum over the list of posterior
  /// times distance (minimum Bayes risk: Goel & Byrne, 2000). Sums with a relative difference below
  /// 1e-12 count as equal. Of hypotheses with equal sums, takes the larger posterior, then the
  /// first. Errors: no hypothesis; not one posterior for each hypothesis.
  ExpectedErrors least_expected_errors(std::span<const double> posteriors) const;

 private:
  size_t size_;
  std::vector<int64_t> distances_;  // of hypothesis i to j < i, in the order of i, then j
};

/// Records which hypotheses of a list have the words of the chosen one at the same places.
class WordSupport {
 public:
  /// Aligns each hypothesis with the chosen one, as align_words() aligns a hypothesis with its
  /// reference.
  WordSupport(std::span<const std::string_view> hypotheses, size_t chosen);
  /// Returns the confidence of each word of the chosen hypothesis: the sum of the posteriors of the
  /// hypotheses that have the same word there.
  std::vector<double> confidences(std::span<const double> posteriors) const;

 private:
  size_t words_ = 0;
  std::vector<char> has_;  // for each hypothesis and word, whether it has the word
};

/// A word with its confidence, and whether it is right.
struct ScoredWord {
  double confidence = 0;
  bool correct = false;
};
/// Returns the normalised cross-entropy of confidences as sclite computes it (NIST). With n words,
/// c of them right, let H = -c log2(c / n) - (n - c) log2(1 - c / n). Let S be the sum of log2 of
/// the confidence of right words and of 1 - confidence of wrong words. The result is (H + S) / H. 1
/// is perfect; 0 is as good as the same confidence for each word. Raises confidences to at least
/// 1e-7 and lowers them to at most 1 - 1e-7. Returns nullopt if no word is right or no word is
/// wrong.
std::optional<double> normalised_cross_entropy(std::span<const ScoredWord> words);

/// A line through confidences: low + (high - low) * confidence.
struct ConfidenceMap {
  double low = 0, high = 1;

  double operator()(double confidence) const { return low + (high - low) * confidence; }
};
/// Fits a map to words by maximum likelihood and returns it: a mapped confidence is the chance that
/// a word is right. Takes `steps` steps of expectation maximisation. The map is needed because the
/// confidences of a list are too large where all its hypotheses agree on a wrong word. Without
/// words, returns the map that changes nothing.
ConfidenceMap fit_confidences(std::span<const ScoredWord> words, int steps = 200);

}  // namespace nine
