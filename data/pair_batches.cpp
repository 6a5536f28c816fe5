#include "data/pair_batches.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "core/error.h"

namespace nine {

PairBatches::PairBatches(const ParallelCorpus& corpus, PairBatchSize size,
                         std::optional<uint64_t> seed)
    : corpus_(&corpus), size_(size), seed_(seed) {
  require(size.tokens >= 0 && size.pairs >= 0 && (size.tokens > 0 || size.pairs > 0),
          "batch tokens ", size.tokens, " and batch size ", size.pairs,
          ": one of them must be at least 1");
  require(corpus.pairs() > 0, "the parallel text has no pair of sentences to use");
  require(corpus.pairs() <= std::numeric_limits<int32_t>::max(), "the parallel text has ",
          corpus.pairs(), " pairs; at most 2147483647 can be shuffled: split the text");
  for (int32_t i = 0; size.tokens > 0 && i < corpus.pairs(); ++i)
    require(positions(i) <= size.tokens, "line ", corpus.line(i), " has a sentence of ",
            positions(i), " tokens, </s> counted, more than batch tokens ", size.tokens,
            ": raise the batch tokens, or set a maximum length that leaves out longer pairs");
  start_epoch(0);
}

void PairBatches::plan(int64_t epoch) {
  order_.resize(static_cast<size_t>(corpus_->pairs()));
  std::iota(order_.begin(), order_.end(), 0);
  if (seed_) shuffle(order_, *seed_, epoch, stream_id("mt.shuffle"));
  std::stable_sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) {
    const int64_t ta = corpus_->target_length(a), tb = corpus_->target_length(b);
    if (ta != tb) return ta < tb;
    const int64_t sa = corpus_->source_length(a), sb = corpus_->source_length(b);
    return ta % 2 == 0 ? sa > sb : sa < sb;
  });
  batches_.clear();
  for (size_t begin = 0; begin < order_.size();) {
    batches_.push_back({begin, batch_end(begin)});
    begin = batches_.back().end;
  }
  if (seed_) shuffle(batches_, *seed_, epoch, stream_id("mt.shuffle_batches"));
}

size_t PairBatches::batch_end(size_t begin) const {
  int64_t longest = 0;
  size_t end = begin;
  for (; end < order_.size(); ++end) {
    longest = std::max(longest, positions(order_[end]));
    const auto count = static_cast<int64_t>(end - begin) + 1;
    if ((size_.tokens > 0 && count * longest > size_.tokens) ||
        (size_.pairs > 0 && count > size_.pairs))
      break;
  }
  return end;
}

std::pair<int64_t, int64_t> PairBatches::longest(const Range& range) const {
  int64_t source = 0, target = 0;
  for (size_t i = range.begin; i < range.end; ++i) {
    source = std::max(source, corpus_->source_length(order_[i]));
    target = std::max(target, corpus_->target_length(order_[i]));
  }
  return {source, target};
}

double PairBatches::padding_share() const {
  int64_t positions = 0;
  for (const Range& range : batches_) {
    const auto [source, target] = longest(range);
    positions += static_cast<int64_t>(range.end - range.begin) * (source + target);
  }
  return 1.0 - static_cast<double>(corpus_->source_tokens() + corpus_->target_tokens()) /
                   static_cast<double>(positions);
}

bool PairBatches::next(PairBatch& batch) {
  const auto chosen = pairs();
  if (chosen.empty()) return false;
  std::tie(batch.src_cols, batch.tgt_cols) = longest(range());
  batch.pairs = std::ssize(chosen);
  const auto rows = chosen.size(), src_cols = static_cast<size_t>(batch.src_cols),
             tgt_cols = static_cast<size_t>(batch.tgt_cols);
  batch.src.assign(rows * src_cols, Specials::kTranslation.pad);
  batch.tgt_in.assign(rows * tgt_cols, Specials::kTranslation.pad);
  batch.tgt_out.assign(rows * tgt_cols, PairBatch::kPaddingTarget);
  batch.weight.assign(corpus_->target_weights(chosen.front()).empty() ? 0 : rows * tgt_cols, 0);
  batch.src_lengths.resize(rows);
  batch.tgt_lengths.resize(rows);
  for (size_t r = 0; r < rows; ++r) {
    const auto source = corpus_->source(chosen[r]), target = corpus_->target(chosen[r]);
    std::copy(source.begin(), source.end(),
              batch.src.begin() + static_cast<std::ptrdiff_t>(r * src_cols));
    const auto in = batch.tgt_in.begin() + static_cast<std::ptrdiff_t>(r * tgt_cols);
    *in = Specials::kTranslation.end;
    std::copy(target.begin(), target.end() - 1, in + 1);
    std::copy(target.begin(), target.end(),
              batch.tgt_out.begin() + static_cast<std::ptrdiff_t>(r * tgt_cols));
    if (!batch.weight.empty())
      std::ranges::copy(corpus_->target_weights(chosen[r]),
                        batch.weight.begin() + static_cast<std::ptrdiff_t>(r * tgt_cols));
    batch.src_lengths[r] = static_cast<int32_t>(source.size());
    batch.tgt_lengths[r] = static_cast<int32_t>(target.size());
  }
  ++position_.step;
  return true;
}

}  // namespace nine
