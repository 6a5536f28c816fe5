// Batches for language models. A batch is time-major: row t, column c is at [t * cols + c]. The
// input of a position is the word before its target. There are three ways to cut a text:
//
//   ColumnBatches    training: shuffled sentences joined into one stream and cut into columns;
//                    the LSTM's state is carried from batch to batch
//   SentenceBatches  training or scoring: each sentence on its own, from a zero state, padded
//   EvalSegments     validation: the text in file order, cut into columns; the state is carried
//
// The columns hold every token of a text once (TextColumns). The first columns may be one token
// longer than the other columns, whose last row is then padding.
//
// The next batch depends on (seed, epoch, step) only, so that a run resumes with seek().
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/enum_names.h"
#include "data/batch_stream.h"
#include "data/corpus.h"

namespace nine {

/// A batch. Its size may change from batch to batch.
struct LmBatch {
  static constexpr int32_t kPaddingInput = 0;    ///< any valid id, because no later target depends
                                                 ///< on the input of padding
  static constexpr int32_t kPaddingTarget = -1;  ///< ignored by the loss

  int64_t rows = 0;                    ///< time steps
  int64_t cols = 0;                    ///< sentences or columns
  std::vector<int32_t> input, target;  ///< rows x cols
  /// Of the targets, rows x cols, 0 for padding; empty if the corpus has no weights.
  std::vector<double> weight;
  int64_t tokens = 0;      ///< predicted tokens, without padding
  int64_t all_tokens = 0;  ///< predicted tokens of all columns, also if next() returns
                           ///< only some columns
};

/// Says what happens to the tokens at the end of a text that do not fill a row of all columns and,
/// in training, to the rows that do not fill a segment.
enum class Remainder : uint8_t {
  read,     ///< they become a last row with padding, and a shorter last segment
  left_out  ///< they are left out, as in runs of versions that had no `read`
};

/// The order in which an epoch of training reads a text that is cut into columns.
enum class TextOrder : uint8_t {
  shuffled,  ///< the sentences in a new order in each epoch
  file       ///< the order of the text, as a ring that each epoch but the first enters at a random
             ///< token, so that segments begin elsewhere
};
template <>
inline constexpr EnumNames<TextOrder, 2> kEnumNames<TextOrder>{
    "order", {{{TextOrder::shuffled, "shuffled"}, {TextOrder::file, "file"}}}};

/// Cuts a text of `tokens` tokens into columns, which hold consecutive parts of the text. With
/// Remainder::read, the first tokens % columns columns are one token longer than the other columns.
class TextColumns {
 public:
  /// `columns` must be at least 1.
  TextColumns(int64_t tokens, int64_t columns, Remainder remainder)
      : columns_(columns),
        short_rows_(tokens / columns),
        longer_(remainder == Remainder::read ? tokens % columns : 0) {}

  int64_t rows() const { return short_rows_ + (longer_ > 0 ? 1 : 0); }  ///< of the longest column
  int64_t tokens() const { return short_rows_ * columns_ + longer_; }   ///< in all columns
  /// begin() returns where column c begins in the text. length() returns the number of tokens of
  /// column c: rows() or rows() - 1.
  int64_t begin(int64_t c) const { return c * short_rows_ + std::min(c, longer_); }
  int64_t length(int64_t c) const { return short_rows_ + (c < longer_ ? 1 : 0); }
  /// Returns the number of tokens of all columns in `count` rows from `first` on. Needs first +
  /// count <= rows().
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

/// Batches for training with truncated back-propagation. Each epoch puts the sentences, each with
/// its </s>, in an order (TextOrder), joins them into a stream and cuts the stream into `batch`
/// columns. A batch is a segment of `bptt` rows of the columns. The first input of a column is the
/// word before the column in the stream; the first input of the first column is </s>. Every token
/// is predicted once in an epoch: the last segment may be shorter, and its last row may end with
/// padding.
class ColumnBatches : public BatchStream<LmBatch> {
 public:
  /// Keeps a reference to `corpus`. Errors: batch < 1 or bptt < 1; the corpus is too small for a
  /// whole segment.
  ColumnBatches(const Corpus& corpus, int64_t batch, int64_t bptt, uint64_t seed)
      : ColumnBatches(corpus, batch, bptt, seed, {0, batch}) {}
  /// Does the same, but next() gives the columns `own` only.
  ColumnBatches(const Corpus& corpus, int64_t batch, int64_t bptt, uint64_t seed, ColumnRange own,
                Remainder remainder = Remainder::read, TextOrder order = TextOrder::shuffled);

  int64_t batch() const { return batch_; }
  int64_t bptt() const { return bptt_; }
  int64_t steps() const override { return (rows_ + bptt_ - 1) / bptt_; }
  /// Returns how many steps at the beginning of an epoch have bptt rows without padding.
  int64_t whole_steps() const { return columns_.length(batch_ - 1) / bptt_; }

  void seek(BatchPosition position) override;
  /// True if the next segment is the first of an epoch. The caller must then set the model's state
  /// to zero.
  bool begins_epoch() const { return position_.step == 0; }
  /// Returns the next segment, with bptt rows or, at the end of an epoch, fewer. It has `batch`
  /// columns, or the columns that the constructor was given.
  bool next(LmBatch& batch) override;

 private:
  struct Cursor {
    size_t place = 0;    // in order_
    int64_t offset = 0;  // of the token in the sentence; with TextOrder::file, in the text
  };
  void place_cursors(int64_t row);
  void write_column(Cursor& cursor, int64_t rows, int64_t column, LmBatch& batch) const;

  const Corpus* corpus_;
  TextColumns columns_;
  int64_t batch_, bptt_;
  int64_t rows_;  // rows that are read
  uint64_t seed_;
  ColumnRange own_;
  TextOrder text_order_;
  int64_t begin_ = 0;            // with TextOrder::file: the token with which this epoch begins
  std::vector<int32_t> order_;   // of the sentences in this epoch
  std::vector<Cursor> cursors_;  // one for each own column
};

/// The size of a batch of SentenceBatches. Exactly one of the two limits must be set.
struct SentenceBatchSize {
  /// Batch size: the number of sentences in a batch.
  int64_t sentences = 0;
  /// Batch tokens: the most positions in a batch, including padding. A longer sentence is a batch
  /// alone.
  int64_t tokens = 0;
};

/// Batches for training on single sentences: input </s> w1 ... wn, target w1 ... wn </s>. Each
/// epoch shuffles the sentences and sorts them by length within pools of about a hundred batches,
/// so that there is little padding. Then it fills batches to the limit and shuffles the batches.
/// Every sentence comes once in an epoch.
class SentenceBatches : public OrderedBatches<LmBatch> {
 public:
  /// Keeps a reference to `corpus`. Errors: not exactly one limit is at least 1; an empty corpus.
  SentenceBatches(const Corpus& corpus, SentenceBatchSize size, uint64_t seed);

  /// Returns the share of padding in the positions of the current epoch, in [0, 1).
  double padding_share() const;

  /// Fills a batch with one sentence in each column.
  bool next(LmBatch& batch) override;
  /// Returns the numbers in the corpus of the sentences of the next batch, one for each column;
  /// empty at the end of the epoch.
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

/// Segments for validation. The text, in file order, is cut into `columns` columns, which are read
/// `segment` rows at a time; the last segment may be shorter. The first inputs are as in
/// ColumnBatches.
class EvalSegments {
 public:
  /// Keeps a reference to `corpus`. Errors: columns < 1 or segment < 1; fewer tokens than columns.
  explicit EvalSegments(const Corpus& corpus, int64_t columns = 10, int64_t segment = 100)
      : EvalSegments(corpus, columns, segment, {0, columns}) {}
  /// Does the same, but next() gives the columns `own` only.
  EvalSegments(const Corpus& corpus, int64_t columns, int64_t segment, ColumnRange own,
               Remainder remainder = Remainder::read);

  const TextColumns& columns() const { return columns_; }
  int64_t segments() const { return (columns_.rows() + segment_ - 1) / segment_; }

  /// True if the next segment is the first. The caller must then set the model's state to zero.
  bool begins_text() const { return row_ == 0; }
  /// Fills `batch`, whose last row may end with padding. Returns false after the last segment.
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
