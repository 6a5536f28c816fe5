#include "data/lm_batches.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "core/random.h"

namespace nine {

namespace {

/// A pool of this many batches holds enough lengths to sort by and still differs from epoch to
/// epoch.
constexpr int64_t kPoolBatches = 100;

void shuffle_sentences(std::vector<int32_t>& order, const Corpus& corpus, uint64_t seed,
                       int64_t epoch) {
  order.resize(static_cast<size_t>(corpus.sentences()));
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, seed, epoch, stream_id("lm.shuffle"));
}

// Returns the token with which an epoch begins that reads the text in its order.
int64_t first_token(const Corpus& corpus, uint64_t seed, int64_t epoch) {
  if (epoch == 0) return 0;
  RandomStream random(
      {.seed = seed, .step = static_cast<uint32_t>(epoch), .op = stream_id("lm.first_token")});
  return static_cast<int64_t>(random.below(static_cast<uint64_t>(corpus.tokens())));
}

void require_numbered(const Corpus& corpus) {
  require(corpus.sentences() <= std::numeric_limits<int32_t>::max(), "the training text has ",
          corpus.sentences(), " sentences; at most 2147483647 can be shuffled: split the text");
}

}  // namespace

ColumnBatches::ColumnBatches(const Corpus& corpus, int64_t batch, int64_t bptt, uint64_t seed,
                             ColumnRange own, Remainder remainder, TextOrder order)
    : corpus_(&corpus),
      columns_(corpus.tokens(), std::max<int64_t>(1, batch), remainder),
      batch_(batch),
      bptt_(bptt),
      rows_(columns_.rows()),
      seed_(seed),
      own_(own),
      text_order_(order) {
  require(batch >= 1, "batch size ", batch, " must be at least 1 column");
  require(own.first >= 0 && own.count >= 1 && own.first + own.count <= batch,
          "[ColumnBatches] columns ", own.first, " to ", own.first + own.count, " of ", batch);
  require(bptt >= 1, "bptt length ", bptt, " must be at least 1 row");
  require(corpus.tokens() >= batch, "the training text has ", corpus.tokens(),
          " tokens, too few for batch size ", batch, " columns: lower the batch size");
  require(remainder == Remainder::read || whole_steps() >= 1, "the training text has ",
          corpus.tokens(), " tokens, too few for one segment of batch size ", batch,
          " columns x bptt length ", bptt, " rows: lower one of them");
  require_numbered(corpus);
  if (remainder == Remainder::left_out) rows_ = whole_steps() * bptt;
  cursors_.resize(static_cast<size_t>(own.count));
  start_epoch(0);
}

void ColumnBatches::seek(BatchPosition position) {
  require_position(position);
  require(position.step <= steps(), "epoch ", position.epoch, " has ", steps(),
          " segments, so training cannot continue at step ", position.step,
          ": have the text, the batch size or the bptt length changed?");
  if (text_order_ == TextOrder::file) {
    begin_ = first_token(*corpus_, seed_, position.epoch);
  } else if (order_.empty() || position.epoch != position_.epoch) {
    shuffle_sentences(order_, *corpus_, seed_, position.epoch);
  }
  position_ = position;
  place_cursors(position.step * bptt_);
}

void ColumnBatches::place_cursors(int64_t row) {
  size_t place = 0;
  int64_t begin = 0;  // where the sentence at `place` begins in the stream
  for (size_t c = 0; c < cursors_.size(); ++c) {
    const int64_t token = columns_.begin(own_.first + static_cast<int64_t>(c)) + row;
    if (text_order_ == TextOrder::file) {
      cursors_[c] = {0, (begin_ + token) % corpus_->tokens()};
      continue;
    }
    while (place < order_.size() && begin + corpus_->length(order_[place]) <= token)
      begin += corpus_->length(order_[place++]);
    cursors_[c] = {place, token - begin};
  }
}

void ColumnBatches::write_column(Cursor& cursor, int64_t rows, int64_t column,
                                 LmBatch& batch) const {
  const std::span<const int32_t> text = corpus_->flat();
  // Every sentence, and so the text, ends with </s>: </s> comes before the first word of both.
  const auto write = [&](int64_t t, size_t at, bool begins) {
    const auto to = static_cast<size_t>(t * own_.count + column);
    batch.input[to] = begins ? Specials::kLanguageModel.end : text[at - 1];
    batch.target[to] = text[at];
    if (!batch.weight.empty()) batch.weight[to] = corpus_->weights()[at];
  };
  for (int64_t t = 0; t < rows; ++t) {
    const auto offset = static_cast<size_t>(cursor.offset++);
    if (text_order_ == TextOrder::file) {
      write(t, offset, offset == 0);
      if (cursor.offset == std::ssize(text)) cursor.offset = 0;
    } else {
      const int32_t sentence = order_[cursor.place];
      write(t, corpus_->begin(sentence) + offset, offset == 0);
      if (cursor.offset == corpus_->length(sentence)) cursor = {cursor.place + 1, 0};
    }
  }
}

bool ColumnBatches::next(LmBatch& batch) {
  if (epoch_finished()) return false;
  const int64_t first = position_.step * bptt_;
  batch.rows = std::min(bptt_, rows_ - first);
  batch.cols = own_.count;
  batch.tokens = 0;
  batch.all_tokens = columns_.tokens_of_rows(first, batch.rows);
  const auto positions = static_cast<size_t>(batch.rows * batch.cols);
  batch.input.assign(positions, LmBatch::kPaddingInput);
  batch.target.assign(positions, LmBatch::kPaddingTarget);
  batch.weight.assign(corpus_->weights().empty() ? 0 : positions, 0);
  for (size_t c = 0; c < cursors_.size(); ++c) {
    const int64_t length = columns_.length(own_.first + static_cast<int64_t>(c)),
                  rows = std::min(batch.rows, length - first);
    write_column(cursors_[c], rows, static_cast<int64_t>(c), batch);
    batch.tokens += rows;
  }
  ++position_.step;
  return true;
}

SentenceBatches::SentenceBatches(const Corpus& corpus, SentenceBatchSize size, uint64_t seed)
    : corpus_(&corpus), size_(size), seed_(seed) {
  require(size.sentences >= 0 && size.tokens >= 0, "batch size ", size.sentences,
          " and batch tokens ", size.tokens, " must not be negative");
  require((size.sentences > 0) != (size.tokens > 0), "batch size ", size.sentences,
          " and batch tokens ", size.tokens, ": exactly one of them must be above 0");
  require(corpus.sentences() > 0, "the training text has no sentences");
  require_numbered(corpus);
  // Avoids an overflow: a size that means "no limit" times the batches of a pool is too large to
  // count.
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / kPoolBatches;
  size_ = {.sentences = std::min(size.sentences, kMost), .tokens = std::min(size.tokens, kMost)};
  start_epoch(0);
}

void SentenceBatches::plan(int64_t epoch) {
  shuffle_sentences(order_, *corpus_, seed_, epoch);
  batches_.clear();
  for (size_t begin = 0; begin < order_.size();) {
    const size_t end = pool_end(begin);
    const auto first = order_.begin() + static_cast<std::ptrdiff_t>(begin),
               last = order_.begin() + static_cast<std::ptrdiff_t>(end);
    std::stable_sort(first, last,
                     [&](int32_t a, int32_t b) { return corpus_->length(a) < corpus_->length(b); });
    while (begin < end) {
      batches_.push_back({begin, batch_end(begin, end)});
      begin = batches_.back().end;
    }
  }
  shuffle(batches_, seed_, epoch, stream_id("lm.shuffle_batches"));
}

size_t SentenceBatches::pool_end(size_t begin) const {
  if (size_.sentences > 0)
    return begin + static_cast<size_t>(std::min(std::ssize(order_) - static_cast<int64_t>(begin),
                                                kPoolBatches * size_.sentences));
  size_t end = begin;
  for (int64_t tokens = 0; end < order_.size() && tokens < kPoolBatches * size_.tokens; ++end)
    tokens += length(end);
  return end;
}

size_t SentenceBatches::batch_end(size_t begin, size_t end) const {
  const auto fits = [&](size_t last) {  // true if sentences [begin, last] fit; the last sentence is
                                        // the longest
    const auto count = static_cast<int64_t>(last - begin) + 1;
    return size_.sentences > 0 ? count <= size_.sentences : count * length(last) <= size_.tokens;
  };
  size_t last = begin + 1;
  while (last < end && fits(last)) ++last;
  return last;
}

double SentenceBatches::padding_share() const {
  int64_t positions = 0;
  for (const Range& b : batches_)
    positions += static_cast<int64_t>(b.end - b.begin) * length(b.end - 1);
  return 1.0 - static_cast<double>(corpus_->tokens()) / static_cast<double>(positions);
}

bool SentenceBatches::next(LmBatch& batch) {
  const auto columns = sentences();
  if (columns.empty()) return false;
  batch.rows = corpus_->length(columns.back());  // the longest, because sentences are sorted
  batch.cols = std::ssize(columns);
  batch.tokens = 0;
  const auto cols = columns.size(), positions = static_cast<size_t>(batch.rows) * cols;
  const std::span<const double> weights = corpus_->weights();
  batch.input.assign(positions, LmBatch::kPaddingInput);
  batch.target.assign(positions, LmBatch::kPaddingTarget);
  batch.weight.assign(weights.empty() ? 0 : positions, 0);
  for (size_t c = 0; c < cols; ++c) {
    const auto sentence = corpus_->sentence(columns[c]);
    for (size_t t = 0; t < sentence.size(); ++t) {
      batch.input[t * cols + c] = t > 0 ? sentence[t - 1] : Specials::kLanguageModel.end;
      batch.target[t * cols + c] = sentence[t];
      if (!weights.empty()) batch.weight[t * cols + c] = weights[corpus_->begin(columns[c]) + t];
    }
    batch.tokens += std::ssize(sentence);
  }
  batch.all_tokens = batch.tokens;
  ++position_.step;
  return true;
}

EvalSegments::EvalSegments(const Corpus& corpus, int64_t columns, int64_t segment, ColumnRange own,
                           Remainder remainder)
    : corpus_(&corpus),
      columns_(corpus.tokens(), std::max<int64_t>(1, columns), remainder),
      segment_(segment),
      own_(own) {
  require(columns >= 1 && segment >= 1, "validation needs at least one column and one row, not ",
          columns, " columns and segments of ", segment, " rows");
  require(corpus.tokens() >= columns, "the text has ", corpus.tokens(), " tokens, fewer than the ",
          columns, " columns in which it is evaluated: use a longer text");
}

bool EvalSegments::next(LmBatch& batch) {
  if (row_ == columns_.rows()) return false;
  batch.rows = std::min(segment_, columns_.rows() - row_);
  batch.cols = own_.count;
  batch.tokens = 0;
  batch.all_tokens = columns_.tokens_of_rows(row_, batch.rows);
  const auto positions = static_cast<size_t>(batch.rows * batch.cols);
  batch.input.assign(positions, LmBatch::kPaddingInput);
  batch.target.assign(positions, LmBatch::kPaddingTarget);
  const auto text = corpus_->flat();
  for (int64_t c = 0; c < own_.count; ++c) {
    const int64_t begin = columns_.begin(own_.first + c) + row_,
                  rows = std::min(batch.rows, columns_.length(own_.first + c) - row_);
    for (int64_t t = 0; t < rows; ++t) {
      const auto from = static_cast<size_t>(begin + t),
                 to = static_cast<size_t>(t * own_.count + c);
      batch.input[to] = from > 0 ? text[from - 1] : Specials::kLanguageModel.end;
      batch.target[to] = text[from];
    }
    batch.tokens += rows;
  }
  row_ += batch.rows;
  return true;
}

}  // namespace nine
