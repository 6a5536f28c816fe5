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

/// A batch of B pairs, row-major: sentences in rows, filled up with padding to the longest.
struct PairBatch {
  /// Fills up tgt_out and is ignored by the loss; src and tgt_in are filled up with <pad>.
  static constexpr int32_t kPaddingTarget = -1;

  int64_t pairs = 0;             ///< B
  int64_t src_cols = 0;          ///< tokens of the longest source, </s> counted
  int64_t tgt_cols = 0;          ///< tokens of the longest target, </s> counted
  std::vector<int32_t> src;      ///< B x src_cols: words </s>
  std::vector<int32_t> tgt_in;   ///< B x tgt_cols, what the decoder reads: </s> words
  std::vector<int32_t> tgt_out;  ///< B x tgt_cols, what each position predicts: words </s>
  std::vector<int32_t> src_lengths, tgt_lengths;  ///< B: without padding
};

/// How large a batch may be; at least one limit.
struct PairBatchSize {
  /// Batch tokens: most positions, that is pairs times the longest sentence of either side, </s>
  /// counted (fairseq's max-tokens); 0: any number.
  int64_t tokens = 0;
  /// Batch size: most pairs; 0: any number.
  int64_t pairs = 0;
};

/// Cuts a corpus into batches of pairs of similar lengths: pairs are sorted by target length, those
/// of equal target length by source length, up and down in turn, so that the source is as long at
/// the end of one target length as at the start of the next; from the front on each batch takes as
/// many as fit. (A padded position of the target costs a decoder and an output layer, hence target
/// first.) Every pair comes once an epoch. In training pairs of equal lengths are shuffled, and so
/// are the batches, anew each epoch: what comes next is a function of (seed, epoch, step) alone.
class PairBatches : public OrderedBatches<PairBatch> {
 public:
  /// Keeps a reference to `corpus`. Without a seed nothing is shuffled: batches come from the
  /// shortest to the longest, equal lengths in the corpus's order. Errors: no limit; no pair; a
  /// pair that alone is larger than `size.tokens`.
  PairBatches(const ParallelCorpus& corpus, PairBatchSize size, std::optional<uint64_t> seed);

  /// Share of the current epoch's positions, of both sides together, that is padding, in [0, 1).
  double padding_share() const;

  bool next(PairBatch& batch) override;
  /// The corpus's numbers of the pairs that next() gives next, a row each; empty at the end of the
  /// epoch.
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
