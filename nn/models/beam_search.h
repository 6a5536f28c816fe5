// Beam search with a translation Transformer or an ensemble of them, translations drawn by chance,
// and scores of given translations. Keys and values are kept from step to step.
//
//   const BeamSearch search(model);
//   std::vector<Translation> found = search.translate(sources, {.beam = 5});
//   found[0][0].words;  // the best translation of the first sentence
//
// The rules are CTranslate2's (docs/decoding.md). A step extends each of at most `beam` prefixes by
// every word and takes the 2 * beam likeliest extensions. Of the first `beam` extensions, those
// that end in </s> are finished hypotheses, and the others are prefixes of the next step. The
// likeliest later extensions without </s> fill the places of the finished hypotheses. All other
// extensions are dropped. A search ends when `beam` hypotheses are finished. It also ends at
// max_length words: the first `beam` extensions then are hypotheses, and those without </s> have
// `complete` = false. Finished hypotheses are ranked by
//
//   score = log p / length^length_penalty,  length without </s> unless count_end is set.
//
// A translation has at least one word: the first step's softmax leaves </s> out. The search drops
// extensions by the word SearchOptions::excluded, and log p of the other words stays as it is. With
// length_penalty 0 another rule ends a search: n_best hypotheses are finished, and the likeliest
// extension of this step or of an earlier step ended in </s>. Among equal scores the better prefix
// wins, then the smaller word id.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/device.h"
#include "nn/models/sampling.h"

namespace nine {

class Transformer;

/// Options of a beam search.
struct SearchOptions {
  int64_t beam = 5;           ///< prefixes kept for each sentence; 1: greedy search
  double length_penalty = 1;  ///< exponent of the length that log p is divided by
  bool count_end = false;     ///< true: that length includes </s>, as in CTranslate2
  int64_t max_length = 200;   ///< most words of a translation; the model's positions limit it too
  int64_t n_best = 1;         ///< hypotheses returned for each sentence, at most `beam`
  int32_t excluded = -1;      ///< a word that no translation contains, such as <unk>; -1: no word
  int64_t batch = 64;         ///< sentences computed together; does not change results
  bool attention = false;     ///< true: fill Hypothesis::attention

  /// Above 0: draws this number of translations of each sentence instead of searching; `sampling`
  /// chooses each word. The result has translation 0, 1, ... in this order, not best first. Of the
  /// members above, beam, n_best and excluded then have no effect; length_penalty and count_end
  /// change the scores only. A word's random number depends only on the seed, the sentence's
  /// number, the translation's number and the position.
  int64_t samples = 0;
  SamplingOptions sampling = {};
  uint64_t seed = 1;
  /// The numbers of the sentences: first_number, first_number + number_step, ...
  int64_t first_number = 0, number_step = 1;
};

/// A translation with its score.
struct Hypothesis {
  std::vector<int32_t> words;  ///< without </s>
  /// Sum of the natural log p of the words and, if `complete`, of </s>. The first word's softmax is
  /// without </s>.
  double log_prob = 0;
  double score = 0;      ///< log_prob / length^length_penalty
  bool complete = true;  ///< ended by </s>; false: cut at max_length
  /// The terms of log_prob: of each word and, if `complete`, of </s>.
  std::vector<double> word_log_probs = {};
  /// With SearchOptions::attention: the last decoder layer's attention weights as the mean over
  /// heads, row by row. A row for each word; a column for each source word, and the last for </s>.
  std::vector<float> attention;
};

/// Returns the source word, from 0, to which each word of the hypothesis attends most; ties: the
/// first. </s> does not count. Empty without SearchOptions::attention.
std::vector<int64_t> alignment(const Hypothesis& hypothesis);

/// A sentence's hypotheses, best first: n_best, or fewer if the search finds fewer. With
/// SearchOptions::samples: the drawn translations, in the order of their numbers.
using Translation = std::vector<Hypothesis>;

/// A model prepared for translation. The constructor packs the weights in their own type. The model
/// must outlive the search and keep its weights. On the CPU results are bit-identical for every
/// batch size, for every choice of neighbouring sentences and for every number of threads.
class BeamSearch {
 public:
  /// Packs the models of an ensemble. A word's probability is the mean of theirs. Errors: no model;
  /// dictionaries of different sizes. The other arguments are as below.
  BeamSearch(std::span<const Transformer* const> models, int32_t end, Device device = kCpu);
  /// `end` is the id of </s> in both dictionaries: it ends every source and starts every
  /// translation. `device` computes; a model on another device is copied.
  explicit BeamSearch(const Transformer& model, int32_t end = 2, Device device = kCpu);
  ~BeamSearch();
  BeamSearch(BeamSearch&&) noexcept;
  BeamSearch& operator=(BeamSearch&&) noexcept;

  using Ids = std::vector<int32_t>;
  /// Called after batches with the number of sentences that are finished so far, from one thread at
  /// a time.
  using Progress = std::function<void(int64_t done)>;

  /// Returns translations of sources (ids without </s>), in the order of the sources. Sentences of
  /// similar length form a batch; batches are translated in parallel. A source without words has
  /// one translation (options.samples translations if samples are drawn): no words, log p 0, score
  /// 0. prefixes: for each source the ids with which each of its translations begins; their log p
  /// counts. No prefixes: an empty span. Errors: an id outside of the dictionary; a source or
  /// prefix with more than max_words() words; not one prefix for each source; options out of range.
  std::vector<Translation> translate(std::span<const Ids> sources, const SearchOptions& options,
                                     const Progress& progress = {},
                                     std::span<const Ids> prefixes = {}) const;

  /// Returns log p (natural) of each word of given translations (ids without </s>), then of </s>:
  /// one vector of targets[i].size() + 1 numbers for each pair. The first word's softmax includes
  /// </s> here, so the sum of a vector is below Hypothesis::log_prob of the same translation. A
  /// source without words is read as </s> alone. Errors: as in translate(), for either side; the
  /// numbers of sources and targets differ.
  std::vector<std::vector<double>> score(std::span<const Ids> sources, std::span<const Ids> targets,
                                         int64_t batch = 64, const Progress& progress = {}) const;

  /// Returns the longest sentence that the model's positions allow, in words without </s>.
  int64_t max_words() const;

  class Engine;  ///< the implementation for one float type

 private:
  void check_sentences(std::span<const Ids> all, int64_t words) const;
  Ids with_end(Ids words) const;

  std::unique_ptr<Engine> engine_;
};

}  // namespace nine
