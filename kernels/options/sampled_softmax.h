// Sampled softmax (Jean et al., 2015): training's softmax over some words that are drawn at random
// and the targets, in place of the whole vocabulary (docs/margins.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"

namespace nine {

/// How many words are drawn, and from what distribution Q. Words are ranked by their count in the
/// training targets, ties by id; counts below 1 are taken as 1.
struct SampledSoftmax {
  enum class Proposal : uint8_t {
    log_uniform,   ///< Q of the word of rank r: log((r + 1) / r) / log(V + 1)
    unigram,       ///< in proportion to its count
    unigram_power  ///< in proportion to its count^0.75
  };
  int64_t size = 0;  ///< K, distinct words; 0: no sampling
  Proposal proposal = Proposal::log_uniform;

  explicit operator bool() const { return size > 0; }
  friend bool operator==(const SampledSoftmax&, const SampledSoftmax&) = default;
};
std::string to_text(const SampledSoftmax& s);  ///< "8192:log-uniform"; "" for none
/// Reads K, K:log-uniform, K:unigram or K:unigram^0.75, "" for none; a UsageError says what is
/// wrong.
SampledSoftmax sampled_softmax_from_text(std::string_view text);

/// The words of a micro-batch: the K that were drawn, the targets, and what else was asked for.
struct SampledWords {
  std::vector<int32_t> words;    ///< ids, each once, ascending
  std::vector<int32_t> targets;  ///< of each row: its place in `words`; -1: none
  /// -log E_v of each word, E_v the expected number of times that it was drawn; 0 for all where the
  /// sample is the whole vocabulary.
  std::vector<double> log_weights;
  std::vector<bool> drawn;  ///< of each word: whether it is one of the K, and so in every row's sum
};

/// Draws words for micro-batches.
class WordSampler {
 public:
  /// counts: of the vocabulary's words. Error: more words are to be drawn than there are.
  WordSampler(const SampledSoftmax& config, std::span<const double> counts);

  /// K distinct words by independent draws from Q, of which repeated ones are left out; with the
  /// targets (ids, -1: none) and `also`, a word that is wanted without being drawn (-1: none). The
  /// same for the same key. Error: 1,000 K draws, and 2^22, do not have so many, for Q is next to 0
  /// on too many words.
  SampledWords sample(const RandomKey& key, std::span<const int32_t> targets,
                      int64_t also = -1) const;

 private:
  int32_t draw(const RandomKey& key, uint64_t index) const;

  SampledSoftmax config_;
  std::vector<int32_t> by_rank_;    // the word of each rank
  std::vector<double> q_;           // of each word
  std::vector<double> cumulative_;  // of the words by rank, but not for log_uniform
};

}  // namespace nine
