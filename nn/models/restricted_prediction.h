// Computes a language model's choices among a few words, at the positions of a text that have one
// of these words.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/communicator.h"
#include "data/measures/bootstrap.h"
#include "data/word_sets.h"
#include "nn/models/language_model.h"

namespace nine {

/// Removes the words from `sets` that are missing in at least one vocabulary. Returns them, each
/// once. Errors: a set is left with fewer than two words, or with those of another set; a word is
/// <unk> or </s>.
std::vector<std::string> drop_unknown_words(std::vector<WordSet>& sets,
                                            std::span<const Vocabulary* const> vocabularies,
                                            const std::string& name);

/// One choice, with r(v) = p(v | context) / sum of p(u | context) over the words u of the set.
struct RestrictedChoice {
  int64_t sentence = 0, token = 0;  ///< indices in the text, from 0
  /// The set's index, and the index in the set of the text's word.
  int32_t set = 0, word = 0;
  int32_t chosen = 0;  ///< argmax r; ties: the lower vocabulary id
  double nats = 0;     ///< -log r(word)
  double margin = 0;   ///< log p(word) - the largest log p of the set's other words
};
/// Returns the choices at all words of `lines` that are in a set, ordered by sentence, token and
/// set. Each sentence starts from a state of zeros. A word in several sets has a choice for each
/// set. Calls `progress`, if set, with the number of sentences read so far. Several processes share
/// batches out; each gets all choices. Errors: a word is not in the model's vocabulary;
/// batch_tokens < 1.
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
/// Measures over choices. Without positions all measures are 0.
struct RestrictedMeasures {
  int64_t positions = 0, sentences = 0;  ///< number of choices, and of sentences that have a choice
  Estimate accuracy;                     ///< fraction of right choices
  Estimate cross_entropy;                ///< mean of the choices' nats
  Estimate margin;                       ///< mean of the choices' margins
};
/// Computes the measures of choices, with intervals of bootstrap samples of the sentences.
RestrictedMeasures measure_choices(std::span<const RestrictedChoice> choices,
                                   const BootstrapOptions& options);

/// Compares two models' choices at the same positions.
struct RestrictedComparison {
  RestrictedMeasures a, b;
  int64_t only_a = 0, only_b = 0;  ///< positions where only that model is right
  double p = 1;                    ///< mcnemar_exact(only_a, only_b)
  Estimate cross_entropy;          ///< of b minus that of a, resampled in pairs
};
/// Compares the choices of models A and B. Error: the choices have different positions.
RestrictedComparison compare_choices(std::span<const RestrictedChoice> a,
                                     std::span<const RestrictedChoice> b,
                                     const BootstrapOptions& options);

}  // namespace nine
