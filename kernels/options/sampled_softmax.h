// Sampled softmax (Jean et al., 2015): in training the softmax goes over randomly drawn words and
// the targets instead of the whole vocabulary (docs/margins.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"

namespace nine {

/// The number of drawn words and their distribution Q. Words are ranked by their count in the
/// training targets, ties by id; counts below 1 count as 1.
struct SampledSoftmax {
  enum class Proposal : uint8_t {
    log_uniform,   ///< Q of the word of rank r: log((r + 1) / r) / log(V + 1)
    unigram,       ///< proportional to the word's count
    unigram_power  ///< proportional to the word's count^0.75
  };
  int64_t size = 0;  ///< K, the number of distinct words to draw; 0: no sampling
  Proposal proposal = Proposal::log_uniform;

  explicit operator bool() const { return size > 0; }
  friend bool operator==(const SampledSoftmax&, const SampledSoftmax&) = default;
};
std::string to_text(const SampledSoftmax& s);  ///< "8192:log-uniform"; "" without sampling
/// Reads K, K:log-uniform, K:unigram or K:unigram^0.75; "": no sampling. Error: a UsageError for
/// any other text.
SampledSoftmax sampled_softmax_from_text(std::string_view text);

/// The words that one micro-batch scores: the K drawn words, the targets, and the extra word `also`
/// of WordSampler::sample().
struct SampledWords {
  std::vector<int32_t> words;    ///< ids, ascending, without duplicates
  std::vector<int32_t> targets;  ///< of each row: the target's index in `words`; -1: no target
  /// -log E_v of each element of `words`, where E_v = 1 - (1 - Q_v)^draws is the probability that
  /// the draws contain word v; 0 for all words if the sample is the whole vocabulary.
  std::vector<double> log_weights;
  /// Of each word: true if it is one of the K drawn words, which count in every row's sum.
  std::vector<bool> drawn;
};

/// Draws words for micro-batches.
class WordSampler {
 public:
  /// counts: of the vocabulary's words. Error: more words are to be drawn than the vocabulary has.
  WordSampler(const SampledSoftmax& config, std::span<const double> counts);

  /// Draws from Q until K distinct words are found. Returns these words, the targets (ids, -1: no
  /// target) and the word `also` (-1: no word), drawn or not. The key determines the draws. Errors:
  /// max(1,000 K, 2^22) draws give fewer than K distinct words, because Q is almost 0 on too many
  /// words; a target or `also` is at least the number of words of the vocabulary.
  SampledWords sample(const RandomKey& key, std::span<const int32_t> targets,
                      int64_t also = -1) const;

 private:
  int32_t draw(const RandomKey& key, uint64_t index) const;

  SampledSoftmax config_;
  std::vector<int32_t> by_rank_;    // the word id of each rank
  std::vector<double> q_;           // Q of each word
  std::vector<double> cumulative_;  // cumulative Q of the words by rank; empty for log_uniform
};

}  // namespace nine
