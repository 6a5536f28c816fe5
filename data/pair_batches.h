// Batches of sentence pairs, limited by tokens or pairs, for training and evaluating translation
// models.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "data/batch_stream.h"
#include "data/parallel_corpus.h"

namespace nine {

/// A batch of B pairs, row-major: each row is a sentence, padded to the length of the longest.
struct PairBatch {
  /// The padding of tgt_out, which the loss ignores. The padding of src and tgt_in is <pad>.
  static constexpr int32_t kPaddingTarget = -1;

  int64_t pairs = 0;             ///< B
  int64_t src_cols = 0;          ///< tokens of the longest source sentence, with </s>
  int64_t tgt_cols = 0;          ///< tokens of the longest target sentence, with </s>
  std::vector<int32_t> src;      ///< B x src_cols: words </s>
  std::vector<int32_t> tgt_in;   ///< B x tgt_cols, input of the decoder: </s> words
  std::vector<int32_t> tgt_out;  ///< B x tgt_cols, targets: words </s>
  /// Of tgt_out, 0 for padding; empty if the corpus has no weights.
  std::vector<double> weight;
  std::vector<int32_t> src_lengths, tgt_lengths;  ///< (B) tokens without padding
};

/// The limits on a batch. At least one must be set.
struct PairBatchSize {
  /// Batch tokens: the most positions, which are the pairs times the length of the longest sentence
  /// of both sides, with </s> (fairseq's max-tokens); 0: no limit.
  int64_t tokens = 0;
  /// Batch size: the most pairs; 0: no limit.
  int64_t pairs = 0;
};

/// Cuts a corpus into batches of pairs of similar lengths. It sorts pairs by target length first,
/// because a padded target position costs a decoder and an output layer. It sorts pairs of equal
/// target length by source length, in ascending and descending order by turns, so that neighbouring
/// pairs have similar source lengths. Each batch then takes as many of the next pairs as fit. Every
/// pair comes once in an epoch. In training, each epoch shuffles pairs of equal lengths, and then
/// the batches. The next batch depends on (seed, epoch, step) only.
class PairBatches : public OrderedBatches<PairBatch> {
 public:
  /// Keeps a reference to `corpus`. Without a seed nothing is shuffled: batches come from the
  /// shortest to the longest, and pairs of equal lengths in the order of the corpus. Errors: no
  /// limit; no pair; a pair that is larger than `size.tokens`.
  PairBatches(const ParallelCorpus& corpus, PairBatchSize size, std::optional<uint64_t> seed);

  /// Returns the share of padding in the current epoch's positions of both sides, in [0, 1).
  double padding_share() const;

  bool next(PairBatch& batch) override;
  /// Returns the numbers in the corpus of the pairs of the next batch, one for each row; empty at
  /// the end of the epoch.
  std::span<const int32_t> pairs() const { return chosen(); }

 private:
  void plan(int64_t epoch) override;
  size_t batch_end(size_t begin) const;
  int64_t positions(int32_t pair) const {
    return std::max(corpus_->source_length(pair), corpus_->target_length(pair));
  }
  std::pair<int64_t, int64_t> longest(const Range& range) const;

  const ParallelCorpus* corpus_;
  PairBatchSize size_;
  std::optional<uint64_t> seed_;
};

}  // namespace nine
