// Translating with a Transformer: beam search, and scoring of given translations, with keys and
// values kept from step to step.
//
//   const BeamSearch search(model);
//   std::vector<Translation> found = search.translate(sources, {.beam = 5});
//   found[0][0].words;  // the best translation of the first sentence
//
// The rules are CTranslate2's (docs/decoding.md): a step extends each of `beam` prefixes by every
// word and takes the 2 * beam likeliest; those among the first `beam` that end in </s> are
// finished, and others take their place. A search ends when `beam` hypotheses are finished, or at
// max_length words, where prefixes count as finished too. Finished hypotheses are ranked by
//
//   score = log p / length^length_penalty,  length without </s> unless count_end is set.
//
// A translation has at least one word: </s> is left out of the first step's softmax. Extensions by
// the excluded word, where there is one, are left out; log p of the others stays as it is. With
// length_penalty 0 a search ends as soon as its likeliest prefix is finished and n_best hypotheses
// are. Equal scores: the better prefix first, then the smaller word.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace nine {

class Transformer;

/// Options of a beam search.
struct SearchOptions {
  int64_t beam = 5;           ///< prefixes kept for each sentence; 1: greedy
  double length_penalty = 1;  ///< exponent of the length that log p is divided by
  bool count_end = false;     ///< </s> is part of that length, as in CTranslate2
  int64_t max_length = 200;   ///< most words of a translation; the model's positions limit it too
  int64_t n_best = 1;         ///< hypotheses returned for each sentence, at most `beam`
  int32_t excluded = -1;      ///< a word that no translation has, such as <unk>; -1: none
  int64_t batch = 64;         ///< sentences at once; results do not depend on it
  bool attention = false;     ///< fill Hypothesis::attention
};

/// A translation with its score.
struct Hypothesis {
  std::vector<int32_t> words;  ///< without </s>
  double log_prob = 0;         ///< natural, of the words and </s>, the first step's without </s>
  double score = 0;            ///< log_prob / length^length_penalty
  bool complete = true;        ///< ended by </s>; false: cut at max_length
  /// With SearchOptions::attention, (words, source words + 1): the last decoder layer's attention
  /// weights, mean over heads.
  std::vector<float> attention;
};

/// A sentence's hypotheses, best first: n_best, or as many as there are.
using Translation = std::vector<Hypothesis>;

/// A model prepared for translating on the CPU; the model itself may be on a GPU. Its weights are
/// packed once, in their own type. Later changes of the model do not change the search. Results
/// do not depend on batch size, neighbouring sentences and number of threads, to the bit.
class BeamSearch {
 public:
  /// `end` is the id of </s> in both dictionaries: it ends every source and starts every
  /// translation.
  explicit BeamSearch(const Transformer& model, int32_t end = 2);
  ~BeamSearch();
  BeamSearch(BeamSearch&&) noexcept;
  BeamSearch& operator=(BeamSearch&&) noexcept;

  using Ids = std::vector<int32_t>;
  /// Called between batches with how many of a call's sentences are done, from one thread at a
  /// time.
  using Progress = std::function<void(int64_t done)>;

  /// Translations of sources (ids without </s>), in their order. Sentences of similar length form a
  /// batch, and batches are translated in parallel. A source without words has one translation,
  /// without words, with log p and score 0. Error: an id outside of the dictionary; a source with
  /// more words than max_words(); options out of range.
  std::vector<Translation> translate(std::span<const Ids> sources, const SearchOptions& options,
                                     const Progress& progress = {}) const;

  /// log p (natural) of each word of given translations (ids without </s>) and of </s> behind them:
  /// one vector of targets[i].size() + 1 numbers for each pair. Errors: as above, for either side.
  std::vector<std::vector<double>> score(std::span<const Ids> sources, std::span<const Ids> targets,
                                         int64_t batch = 64, const Progress& progress = {}) const;

  /// The longest sentence that the model's positions allow, in words without </s>.
  int64_t max_words() const;

  class Engine;  ///< the implementation for one float type

 private:
  void check_lengths(std::span<const Ids> all) const;
  std::vector<Ids> with_end(std::span<const Ids> all, std::span<const size_t> part) const;

  std::unique_ptr<Engine> engine_;
};

}  // namespace nine
