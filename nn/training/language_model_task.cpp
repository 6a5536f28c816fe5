#include "nn/training/language_model_task.h"

#include <algorithm>

#include "nn/models/score_text.h"

namespace nine {
namespace {

std::unique_ptr<BatchStream<LmBatch>> make_stream(const Corpus& text, const LmBatching& b) {
  if (!b.sentences) return std::make_unique<ColumnBatches>(text, b.batch, b.bptt, b.seed);
  const SentenceBatchSize size = b.batch_tokens > 0 ? SentenceBatchSize{.tokens = b.batch_tokens}
                                                    : SentenceBatchSize{.sentences = b.batch};
  return std::make_unique<SentenceBatches>(text, size, b.seed);
}

// Copies ids into a tensor of that shape, which is made anew only where the shape changes.
void set_ids(Tensor& to, const std::vector<int32_t>& ids, const Shape& shape) {
  if (!to || to.shape() != shape) to = Tensor(shape, DType::int32);
  std::copy(ids.begin(), ids.end(), to.data<int32_t>());
}

// Ids of those of the first n rows that count, of which there are `count`; none where all do.
template <class Counts>
Tensor rows_that(Counts counts, int64_t n, int64_t count) {
  if (count == 0 || count == n) return {};
  Tensor ids({count}, DType::int32);
  int32_t* next = ids.data<int32_t>();
  for (int64_t r = 0; r < n; ++r)
    if (counts(r)) *next++ = static_cast<int32_t>(r);
  return ids;
}

}  // namespace

LanguageModelTask::LanguageModelTask(const LstmLanguageModel& model, const Corpus& train,
                                     const Corpus* valid, const LmBatching& batching)
    : LanguageModelTask(model, valid, batching, make_stream(train, batching)) {}

LanguageModelTask::LanguageModelTask(const LstmLanguageModel& model, const Corpus* valid,
                                     const LmBatching& batching,
                                     std::unique_ptr<BatchStream<LmBatch>> stream)
    : EpochTask(*stream),
      model_(model),
      valid_(valid),
      stream_(std::move(stream)),
      carry_state_(!batching.sentences),
      mixture_weights_(MixtureWeightStats::of(model.config().head.spec)),
      carried_(model.new_state(batching.batch)),
      next_carried_(model.new_state(batching.batch)) {
  if (valid != nullptr)
    EvalSegments check(*valid);  // a text that is too small is an error now, not after an epoch
}

void LanguageModelTask::start_epoch(int64_t epoch) {
  EpochTask::start_epoch(epoch);
  if (carry_state_) carried_.clear();
}

std::optional<int64_t> LanguageModelTask::micro_batches_per_epoch() const {
  if (!carry_state_) return std::nullopt;
  return stream_->steps();
}

bool LanguageModelTask::fetch_one(size_t i) {
  if (!stream_->next(batch_)) return false;
  if (batches_.size() == i) batches_.emplace_back();
  MicroBatch& b = batches_[i];
  set_ids(b.input, batch_.input, {batch_.rows, batch_.cols});
  set_ids(b.target, batch_.target, {batch_.rows, batch_.cols});
  b.tokens = batch_.tokens;
  return true;
}

int64_t LanguageModelTask::fetch(int most) {
  count_ = 0;
  int64_t tokens = 0;
  while (count_ < most && fetch_one(static_cast<size_t>(count_)))
    tokens += batches_[static_cast<size_t>(count_++)].tokens;
  require(count_ > 0, "[LanguageModelTask] an epoch's end was passed without start_epoch");
  if (!carry_state_ && model_.regularises_activations()) find_padding();
  return tokens;
}

// Every position but a sentence's last has a next one.
void LanguageModelTask::find_padding() {
  int64_t all_pairs = 0;
  for (int i = 0; i < count_; ++i) {
    MicroBatch& b = batches_[static_cast<size_t>(i)];
    const int64_t rows = b.target.elements(), columns = b.target.shape()[1];
    const int32_t* target = b.target.data<int32_t>();
    const auto has_next = [&](int64_t r) { return target[r + columns] >= 0; };
    int64_t pairs = 0;
    for (int64_t r = 0; r < rows - columns; ++r) pairs += has_next(r);
    b.unpadded.rows = rows_that([&](int64_t r) { return target[r] >= 0; }, rows, b.tokens);
    b.unpadded.pairs = rows_that(has_next, rows - columns, pairs);
    b.unpadded.pair_share = static_cast<double>(pairs);
    all_pairs += pairs;
  }
  for (int i = 0; i < count_; ++i)
    batches_[static_cast<size_t>(i)].unpadded.pair_share /=
        static_cast<double>(std::max<int64_t>(1, all_pairs));
}

TrainingSource::Objective LanguageModelTask::forward(Tape& tape, int i, double row_weight) {
  const MicroBatch& b = batches_[static_cast<size_t>(i)];
  const int64_t columns = b.input.shape()[1];
  if (carry_state_) {
    (i == 0 ? carried_ : next_carried_).on(tape, state_);
  } else {
    model_.new_state(columns).on(tape, state_);
  }
  const LstmLanguageModel::Hidden hidden = model_.run(tape, b.input, state_);
  if (carry_state_) next_carried_.store(state_);
  const Var penalty =
      model_.regulariser(hidden, columns, row_weight * static_cast<double>(b.tokens),
                         carry_state_ ? nullptr : &b.unpadded);
  const SoftmaxLoss out = model_.loss(hidden.output, b.target, row_weight);
  if (out.prior) mixture_weights_.add(out.prior.value(), b.target);
  return {penalty ? add(out.loss, penalty) : out.loss, out.nll};
}

void LanguageModelTask::commit() {
  if (carry_state_) carried_.copy_from(next_carried_);
}

std::vector<NamedView> LanguageModelTask::state() const {
  std::vector<NamedView> all = carried_.named("carry.");
  for (const NamedView& sums : mixture_weights_.named()) all.push_back(sums);
  if (const HeadStats* stats = model_.head().stats(); stats != nullptr)
    for (const NamedView& sums : stats->named()) all.push_back(sums);
  return all;
}

void LanguageModelTask::load_state(const Safetensors& file) {
  carried_.load(file, "carry.");
  mixture_weights_.load(file);
  if (HeadStats* stats = model_.head().stats(); stats != nullptr) stats->load(file);
}

Evaluation LanguageModelTask::validate(Tape& tape) {
  return evaluate_carried(model_, tape, *valid_);
}

}  // namespace nine
