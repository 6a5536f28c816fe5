// Which word of a set? A language model's choice among a few words, at the positions of a text that
// have one of them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/communicator.h"
#include "data/measures/bootstrap.h"
#include "nn/models/language_model.h"

namespace nine {

/// Words of which one is to be chosen, such as a cluster of words that stand in the same places.
struct WordSet {
  std::vector<std::string> words;
  std::vector<int64_t> counts;  ///< of the words in the training text; empty: not known
};

/// Reads sets, one a line: words separated by spaces, and after a tab, where the line has one, as
/// many counts. Empty lines and lines that begin with # are left out; before a set whose first word
/// begins with # stands a space. `name` is the file in
/// errors, which also name the line: a word twice, counts that are none or too few, fewer than two
/// words, a set twice, no set at all.
std::vector<WordSet> parse_word_sets(std::span<const std::string> lines, const std::string& name);

/// Takes the words out of `sets` that some vocabulary lacks, and returns them, each once. Errors: a
/// set is left with fewer than two words; a word is <unk> or </s>.
std::vector<std::string> drop_unknown_words(std::vector<WordSet>& sets,
                                            std::span<const Vocabulary* const> vocabularies,
                                            const std::string& name);

/// One choice. With r(v) = p(v | context) / sum of p(u | context) over the words u of the set:
struct RestrictedChoice {
  int64_t sentence = 0, token = 0;  ///< of the text, from 0
  int32_t set = 0, word = 0;        ///< the set, and which of its words the text has there
  int32_t chosen = 0;               ///< argmax r; of equal ones the lower vocabulary id
  double nats = 0;                  ///< -log r(word)
  double margin = 0;                ///< log p(word) - the largest log p of the set's other words
};
/// The choices at all words of `lines` that are in a set, by sentence, token and set; each sentence
/// starts from a state of zeros. A word of several sets has a choice for each. `progress`, where
/// given, is called with the number of sentences read so far. Several processes share batches
/// out; each gets all choices. Errors: a word is not in the model's
/// vocabulary; batch_tokens < 1.
std::vector<RestrictedChoice> restricted_choices(const LanguageModel& model,
                                                 std::span<const std::string> lines,
                                                 std::span<const WordSet> sets,
                                                 int64_t batch_tokens,
                                                 const std::function<void(int64_t)>& progress = {},
                                                 Communicator& communicator = one_process());

/// A mean with its 95% interval, resampled over the sentences that have a position.
struct Estimate {
  double value = 0;
  Interval interval;
};
/// Measures of some choices. Without positions all are 0.
struct RestrictedMeasures {
  int64_t positions = 0, sentences = 0;  ///< sentences that have a position
  Estimate accuracy;                     ///< share of right choices
  Estimate cross_entropy;                ///< mean nats
  Estimate margin;                       ///< mean
};
RestrictedMeasures measure_choices(std::span<const RestrictedChoice> choices,
                                   const BootstrapOptions& options);

/// Two models' choices at the same positions.
struct RestrictedComparison {
  RestrictedMeasures a, b;
  int64_t only_a = 0, only_b = 0;  ///< positions where that model alone is right
  double p = 1;                    ///< mcnemar_exact(only_a, only_b)
  Estimate cross_entropy;          ///< of b minus that of a, resampled in pairs
};
/// Error: the choices are not of the same positions.
RestrictedComparison compare_choices(std::span<const RestrictedChoice> a,
                                     std::span<const RestrictedChoice> b,
                                     const BootstrapOptions& options);

}  // namespace nine
