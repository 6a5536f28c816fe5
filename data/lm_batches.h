// Batches for language models. A batch is time-major: row t, column c at [t * cols + c]; the input
// of a position is the word before its target. Three ways to cut a text:
//
//   ColumnBatches    training: shuffled sentences joined into one stream and cut into columns;
//                    the LSTM's state is carried from batch to batch
//   SentenceBatches  training or scoring: each sentence on its own, from a zero state, padded
//   EvalSegments     validation: the text in file order, cut into columns; the state is carried
//
// Columns hold every token of a text once (TextColumns): the first ones may be a token longer than
// the others, whose last row is padding then.
//
// The next batch is a function of (seed, epoch, step) alone, so that a run resumes with seek().
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "data/batch_stream.h"
#include "data/corpus.h"

namespace nine {

/// A batch of changing size.
struct LmBatch {
  static constexpr int32_t kPaddingInput = 0;    ///< any valid id: no later target depends on it
  static constexpr int32_t kPaddingTarget = -1;  ///< ignored by the loss

  int64_t rows = 0;                    ///< time steps
  int64_t cols = 0;                    ///< sentences or columns
  std::vector<int32_t> input, target;  ///< rows x cols
  int64_t tokens = 0;                  ///< predicted, i.e. without padding
  int64_t all_tokens = 0;              ///< the same of all columns, where next() gives some of them
};

/// What becomes of the tokens of a text that fill no row of columns and, in training, of the rows
/// that fill no segment.
enum class Remainder : uint8_t {
  read,     ///< they are a last row with padding, and a shorter last segment
  left_out  ///< they are left out: the rule of runs that began before `read` was there
};

/// A text of `tokens` tokens in columns, one part of it after another. The first tokens % columns
/// of them are one token longer than the others, or, with Remainder::left_out, not.
class TextColumns {
 public:
  /// columns >= 1.
  TextColumns(int64_t tokens, int64_t columns, Remainder remainder)
      : columns_(columns),
        short_rows_(tokens / columns),
        longer_(remainder == Remainder::read ? tokens % columns : 0) {}

  int64_t rows() const { return short_rows_ + (longer_ > 0 ? 1 : 0); }  ///< of the longest column
  int64_t tokens() const { return short_rows_ * columns_ + longer_; }   ///< in all columns
  /// Where column c begins in the text, and how many tokens it has: rows() or one less.
  int64_t begin(int64_t c) const { return c * short_rows_ + std::min(c, longer_); }
  int64_t length(int64_t c) const { return short_rows_ + (c < longer_ ? 1 : 0); }
  /// Tokens of all columns in rows first ... first + count - 1, of which none is beyond rows().
  int64_t tokens_of_rows(int64_t first, int64_t count) const {
    return count * columns_ - (first + count > short_rows_ ? columns_ - longer_ : 0);
  }

 private:
  int64_t columns_, short_rows_, longer_;
};

/// Columns [first, first + count) of a batch.
struct ColumnRange {
  int64_t first = 0, count = 0;
};

/// Training with truncated back-propagation. Each epoch puts the sentences, each with its </s>, in
/// a new order, joins them and cuts the stream into `batch` columns, read `bptt` rows at a time:
/// row t predicts the word after row t - 1's target. What precedes a column's first word is the
/// stream's previous word; for the first column, </s>. Every token is predicted once an epoch: the
/// last segment may be shorter, its last row may end with padding.
class ColumnBatches : public BatchStream<LmBatch> {
 public:
  /// Keeps a reference to `corpus`. Errors: batch or bptt < 1; a corpus too small for one whole
  /// segment.
  ColumnBatches(const Corpus& corpus, int64_t batch, int64_t bptt, uint64_t seed)
      : ColumnBatches(corpus, batch, bptt, seed, {0, batch}) {}
  /// The same, of which next() gives these columns alone.
  ColumnBatches(const Corpus& corpus, int64_t batch, int64_t bptt, uint64_t seed, ColumnRange own,
                Remainder remainder = Remainder::read);

  int64_t batch() const { return batch_; }
  int64_t bptt() const { return bptt_; }
  int64_t steps() const override { return (rows_ + bptt_ - 1) / bptt_; }
  /// The first steps of an epoch, which have bptt rows without padding.
  int64_t whole_steps() const { return columns_.length(batch_ - 1) / bptt_; }

  void seek(BatchPosition position) override;
  /// Whether the next segment is an epoch's first: the model's state must be set to zero before it.
  bool begins_epoch() const { return position_.step == 0; }
  /// The next segment: bptt rows or, at an epoch's end, fewer; batch columns (or those asked for).
  bool next(LmBatch& batch) override;

 private:
  struct Cursor {
    size_t place = 0;    // in order_
    int64_t offset = 0;  // in that sentence
  };
  void place_cursors(int64_t row);
  void write_column(Cursor& cursor, int64_t rows, int32_t* input, int32_t* target) const;

  const Corpus* corpus_;
  TextColumns columns_;
  int64_t batch_, bptt_;
  int64_t rows_;  // that are read
  uint64_t seed_;
  ColumnRange own_;
  std::vector<int32_t> order_;   // of the sentences in this epoch
  std::vector<Cursor> cursors_;  // one of each own column
};

/// How large a batch of SentenceBatches is: exactly one of the two is set.
struct SentenceBatchSize {
  /// Batch size: sentences in a batch.
  int64_t sentences = 0;
  /// Batch tokens: most positions in a batch, padding included; a longer sentence goes alone.
  int64_t tokens = 0;
};

/// Training with each sentence on its own: input </s> w1 ... wn, target w1 ... wn </s>. Each epoch
/// shuffles the sentences, sorts them by length within pools of about a hundred batches, so that
/// little is padded, fills batches to the limit and shuffles those. Every sentence comes once an
/// epoch.
class SentenceBatches : public OrderedBatches<LmBatch> {
 public:
  /// Keeps a reference to `corpus`. Errors: not exactly one limit >= 1; an empty corpus.
  SentenceBatches(const Corpus& corpus, SentenceBatchSize size, uint64_t seed);

  /// Share of the current epoch's positions that is padding, in [0, 1).
  double padding_share() const;

  /// Sentences in columns.
  bool next(LmBatch& batch) override;
  /// The corpus's numbers of the sentences that next() gives next, a column each; empty at the end
  /// of the epoch.
  std::span<const int32_t> sentences() const { return chosen(); }

 private:
  void plan(int64_t epoch) override;
  size_t pool_end(size_t begin) const;
  size_t batch_end(size_t begin, size_t end) const;
  int64_t length(size_t place) const { return corpus_->length(order_[place]); }

  const Corpus* corpus_;
  SentenceBatchSize size_;
  uint64_t seed_;
};

/// Validation: the text in file order, cut into `columns` columns that are read `segment` rows at a
/// time, the last segment shorter. First inputs are as in ColumnBatches.
class EvalSegments {
 public:
  /// Keeps a reference to `corpus`. Errors: columns or segment < 1; fewer tokens than columns.
  explicit EvalSegments(const Corpus& corpus, int64_t columns = 10, int64_t segment = 100)
      : EvalSegments(corpus, columns, segment, {0, columns}) {}
  /// The same, of which next() gives these columns alone.
  EvalSegments(const Corpus& corpus, int64_t columns, int64_t segment, ColumnRange own,
               Remainder remainder = Remainder::read);

  const TextColumns& columns() const { return columns_; }
  int64_t segments() const { return (columns_.rows() + segment_ - 1) / segment_; }

  /// Whether the next segment is the first: the model's state must be set to zero before it.
  bool begins_text() const { return row_ == 0; }
  /// Fills `batch`, whose last row may end with padding; false after the last segment.
  bool next(LmBatch& batch);
  void restart() { row_ = 0; }

 private:
  const Corpus* corpus_;
  TextColumns columns_;
  int64_t segment_;
  ColumnRange own_;
  int64_t row_ = 0;
};

}  // namespace nine
