#include "nn/training/language_model_task.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/ops.h"
#include "nn/models/score_text.h"
#include "nn/training/mixture_weight_stats.h"

namespace nine {
namespace {

std::unique_ptr<BatchStream<LmBatch>> make_stream(const Corpus& text, const LmBatching& b) {
  if (!b.sentences) {
    const MicroBatchSlots slots = MicroBatchSlots::of(b.accumulate, b.communicator);
    // ColumnBatches has this error for one batch, but it does not know how the columns are made up.
    const bool whole = b.remainder == Remainder::left_out;
    require(slots.all == 1 || text.tokens() >= b.batch * slots.all * (whole ? b.bptt : 1),
            "the training text has ", text.tokens(),
            " tokens, too few for one update of batch size ", b.batch,
            " columns x accumulation steps ", slots.all,
            whole ? concat(" x bptt length ", b.bptt, " rows") : "", ": lower one of them");
    return std::make_unique<ColumnBatches>(
        text, b.batch * slots.all, b.bptt, b.seed,
        ColumnRange{.first = slots.first * b.batch, .count = slots.own() * b.batch}, b.remainder,
        b.order);
  }
  const SentenceBatchSize size = b.batch_tokens > 0 ? SentenceBatchSize{.tokens = b.batch_tokens}
                                                    : SentenceBatchSize{.sentences = b.batch};
  return std::make_unique<SentenceBatches>(text, size, b.seed);
}

// Copies the columns from `first` on of a batch with `shape`'s rows into a tensor of that shape.
// Allocates new memory only if the tensor is larger than all before it.
template <class T>
void copy_columns(Tensor& to, Tensor& room, const std::vector<T>& values, const Shape& shape,
                  size_t first) {
  const int64_t size = shape.elements();
  if (!room || room.elements() < size) room = Tensor({size, 1}, dtype_of<T>);
  to = room.row_range(0, size).reshaped(shape);
  const auto rows = static_cast<size_t>(shape[0]), columns = static_cast<size_t>(shape[1]),
             all = values.size() / rows;
  for (size_t r = 0; r < rows; ++r)
    std::copy_n(values.data() + r * all + first, columns, to.data<T>() + r * columns);
}

// Gathers each rank's tensors, which are rows of a whole, in rank 0's tensors.
void gather_columns(Communicator& communicator, const std::vector<NamedView>& own,
                    const std::vector<NamedView>& all) {
  for (size_t i = 0; i < own.size(); ++i) {
    const View& part = own[i].view;
    if (!communicator.first()) {
      communicator.send(0, part.data, part.bytes());
      continue;
    }
    ops::copy(part, all[i].view.row_range(0, part.rows()));
    for (int r = 1; r < communicator.size(); ++r)
      communicator.receive(r, all[i].view.row_range(r * part.rows(), part.rows()).data,
                           part.bytes());
  }
}

// Returns the ids of the rows that count among the first n, of which there are `count`; empty if
// all rows count.
template <class Counts>
Tensor rows_that(Counts counts, int64_t n, int64_t count) {
  if (count == 0 || count == n) return {};
  Tensor ids({count}, DType::int32);
  int32_t* next = ids.data<int32_t>();
  for (int64_t r = 0; r < n; ++r)
    if (counts(r)) *next++ = static_cast<int32_t>(r);
  return ids;
}

// Finds the padding at the end of each column of a micro-batch's targets; `tokens` targets are not
// padding. Every position except a column's last has a successor. Returns the number of such pairs,
// and stores it as the share in `unpadded`, if given.
int64_t find_padding(const int32_t* target, const Shape& shape, int64_t tokens,
                     LanguageNetwork::Unpadded* unpadded) {
  const int64_t columns = shape[1], rows = shape.elements();
  const auto has_next = [&](int64_t r) { return target[r + columns] >= 0; };
  int64_t pairs = 0;
  for (int64_t r = 0; r < rows - columns; ++r) pairs += has_next(r);
  if (unpadded == nullptr) return pairs;
  unpadded->rows = rows_that([&](int64_t r) { return target[r] >= 0; }, rows, tokens);
  unpadded->pairs = rows_that(has_next, rows - columns, pairs);
  unpadded->pair_share = static_cast<double>(pairs);
  return pairs;
}

}  // namespace

LanguageModelTask::LanguageModelTask(const LanguageNetwork& model, const Corpus& train,
                                     const Corpus* valid, const LmBatching& batching)
    : LanguageModelTask(model, valid, batching, make_stream(train, batching)) {}

LanguageModelTask::LanguageModelTask(const LanguageNetwork& model, const Corpus* valid,
                                     const LmBatching& batching,
                                     std::unique_ptr<BatchStream<LmBatch>> stream)
    : EpochTask(*stream),
      model_(model),
      valid_(valid),
      stream_(std::move(stream)),
      slots_(MicroBatchSlots::of(batching.accumulate, batching.communicator)),
      communicator_(batching.communicator != nullptr ? *batching.communicator : one_process()),
      batch_size_(batching.batch),
      bptt_(batching.bptt),
      carry_state_(!batching.sentences),
      remainder_(batching.remainder),
      evaluation_(batching.evaluation),
      mixture_weights_(MixtureWeightStats::of(model.head_config().spec, model.device())),
      carried_(model.new_state(batching.batch * slots_.own())),
      next_carried_(model.new_state(batching.batch * slots_.own())) {
  if (valid != nullptr && evaluation_ == EvaluationState::carried)
    EvalSegments check(*valid);  // throws for a text that is too small now, not after an epoch
}

void LanguageModelTask::start_epoch(int64_t epoch) {
  EpochTask::start_epoch(epoch);
  if (carry_state_) carried_.clear();
}

std::optional<int64_t> LanguageModelTask::whole_segments() const {
  const auto* columns = dynamic_cast<const ColumnBatches*>(stream_.get());
  return columns != nullptr ? std::optional(columns->whole_steps()) : std::nullopt;
}

int64_t LanguageModelTask::fetch(int most) {
  count_ = 0;
  batches_.resize(static_cast<size_t>(slots_.own()));
  const int64_t tokens = carry_state_ ? fetch_columns() : fetch_sentences(most);
  require(tokens > 0, "[LanguageModelTask] the epoch has ended: call start_epoch() first");
  if (!batch_.weight.empty()) set_factors(tokens);
  return tokens;
}

void LanguageModelTask::set_columns(MicroBatch& to, const Shape& shape, size_t first) const {
  copy_columns(to.input, to.input_room, batch_.input, shape, first);
  copy_columns(to.target, to.target_room, batch_.target, shape, first);
  if (!batch_.weight.empty())
    copy_columns(to.factors, to.factors_room, batch_.weight, shape, first);
}

// Divides the weights by their mean over the update's tokens, so that row_weight times the factors
// makes PyTorch's weighted mean. Weights that are all 0 stay 0. The sum has the same order for any
// number of processes.
void LanguageModelTask::set_factors(int64_t tokens) {
  std::vector<double> sums(static_cast<size_t>(slots_.all));
  const int end = std::min(count_, slots_.end);
  for (int i = slots_.first; i < end; ++i) {
    const Tensor& weights = own(i).factors;
    sums[static_cast<size_t>(i)] =
        std::accumulate(weights.data<double>(), weights.data<double>() + weights.elements(), 0.0);
  }
  communicator_.all_gather(sums.data(), slots_.own() * static_cast<int64_t>(sizeof(double)));
  const double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  for (int i = slots_.first; sum > 0 && i < end; ++i)
    ops::scale(static_cast<double>(tokens) / sum, own(i).factors, {own(i).factors});
}

// The stream gives this process's columns.
int64_t LanguageModelTask::fetch_columns() {
  if (!stream_->next(batch_)) return 0;
  const int64_t rows = batch_.rows, columns = batch_size_ * slots_.all;
  padded_ = batch_.all_tokens < rows * columns;
  // Only the last row has padding, after the columns that have a token there. If it is the only
  // row, the last micro-batches may be empty.
  const int64_t filled = rows > 1 ? columns : batch_.all_tokens;
  count_ = static_cast<int>((filled + batch_size_ - 1) / batch_size_);
  const Shape shape{rows, batch_size_};
  for (int i = slots_.first; i < std::min(count_, slots_.end); ++i) {
    MicroBatch& b = own(i);
    set_columns(b, shape, static_cast<size_t>((i - slots_.first) * batch_size_));
    const int32_t* target = b.target.data<int32_t>();
    b.tokens = std::count_if(target, target + shape.elements(), [](int32_t y) { return y >= 0; });
    if (padded_ && model_.regularises_activations())
      find_padding(target, shape, b.tokens, &b.unpadded);
  }
  if (padded_ && model_.regularises_activations())
    set_pair_shares(rows > 1 ? batch_.all_tokens - columns : 0,
                    static_cast<double>(batch_.all_tokens) /
                        static_cast<double>(weighing_tokens(batch_.all_tokens)));
  return batch_.all_tokens;
}

// Every process reads the whole stream, because the total numbers of tokens and pairs determine the
// weights.
int64_t LanguageModelTask::fetch_sentences(int most) {
  require(most == slots_.all, "[LanguageModelTask] ", most, " micro-batches where ", slots_.all,
          " were announced");
  padded_ = true;
  int64_t tokens = 0, all_pairs = 0;
  for (; count_ < most && stream_->next(batch_); ++count_) {
    tokens += batch_.tokens;
    const Shape shape{batch_.rows, batch_.cols};
    const bool is_own = slots_.has(count_);
    if (is_own) {
      set_columns(own(count_), shape, 0);
      own(count_).tokens = batch_.tokens;
    }
    if (model_.regularises_activations())
      all_pairs += find_padding(batch_.target.data(), shape, batch_.tokens,
                                is_own ? &own(count_).unpadded : nullptr);
  }
  if (model_.regularises_activations()) set_pair_shares(all_pairs, 1);
  return tokens;
}

// `weight`: of this update relative to an update of a whole segment.
void LanguageModelTask::set_pair_shares(int64_t all_pairs, double weight) {
  for (int i = slots_.first; i < std::min(count_, slots_.end); ++i) {
    double& share = own(i).unpadded.pair_share;
    share = share / static_cast<double>(std::max<int64_t>(1, all_pairs)) * weight;
  }
}

TrainingSource::Objective LanguageModelTask::forward(Tape& tape, int i, double row_weight) {
  const MicroBatch& b = own(i);
  const int64_t columns = b.input.shape()[1], first = (i - slots_.first) * batch_size_;
  if (carry_state_) {
    carried_.on(tape, state_, first, batch_size_);
  } else {
    state_ = model_.start_state(tape, columns);
  }
  const LanguageNetwork::Hidden hidden = model_.run(tape, b.input, state_);
  if (carry_state_) next_carried_.store(state_, first);
  const Var penalty = model_.regulariser(
      hidden, columns, row_weight * static_cast<double>(b.tokens), padded_ ? &b.unpadded : nullptr);
  const SoftmaxLoss out = model_.loss(hidden.output, b.target, row_weight, b.factors);
  if (out.prior) mixture_weights_.add(out.prior.value(), b.target);
  return {penalty ? add(out.loss, penalty) : out.loss, out.nll};
}

void LanguageModelTask::commit() {
  if (carry_state_) carried_.copy_from(next_carried_);
}

void LanguageModelTask::statistics(std::vector<StepStatistic>& out) {
  add_head_statistics(model_.head(), mixture_weights_, out);
}

// Gathers the columns of all processes in rank 0.
std::vector<NamedView> LanguageModelTask::state() {
  std::vector<NamedView> all;
  if (communicator_.size() == 1) {
    all = carried_.named("carry.");
  } else {
    if (communicator_.first() && !all_carried_)
      all_carried_.emplace(model_.new_state(batch_size_ * slots_.all));
    if (communicator_.first()) all = all_carried_->named("carry.");
    gather_columns(communicator_, carried_.named("carry."), all);
  }
  for (const NamedView& sums : mixture_weights_.named()) all.push_back(sums);
  for (const NamedView& sums : head_sums(model_.head())) all.push_back(sums);
  return all;
}

void LanguageModelTask::load_state(const Safetensors& file) {
  carried_.load(file, "carry.", batch_size_ * slots_.first, batch_size_ * slots_.all);
  mixture_weights_.load(file);
  load_head_sums(model_.head(), file);
}

Evaluation LanguageModelTask::evaluate(Tape& tape, const Corpus& text,
                                       Communicator& communicator) const {
  Evaluation result =
      evaluation_ == EvaluationState::fresh
          ? evaluate_sentences(model_, tape, text, communicator)
          : evaluate_carried(model_, tape, text, 10, 100, nullptr, communicator, 0, remainder_);
  result.set_raw_size(text.raw_size());
  return result;
}

Evaluation LanguageModelTask::validate(Tape& tape) {
  Evaluation result = evaluate(tape, *valid_, communicator_);
  look_at_samples(tape);
  return result;
}

namespace {

// The most words of a sentence whose attention is shown.
constexpr int64_t kLongestShown = 30;

// Returns the words of a sentence that the model reads; the sentence's end is its last target.
std::vector<int32_t> read_words(std::span<const int32_t> sentence) {
  std::vector<int32_t> words{Specials::kLanguageModel.end};
  words.insert(words.end(), sentence.begin(), sentence.end() - 1);
  return words;
}

Json json_words(const Vocabulary& vocabulary, std::span<const int32_t> ids) {
  Json out = Json::array();
  for (const int32_t id : ids) out.push_back(vocabulary.word(id));
  return out;
}

}  // namespace

// Chooses the same sentences at every validation, spread over the text.
void LanguageModelTask::show_attention(const Vocabulary& words, int64_t sentences) {
  if (valid_ == nullptr || model_.window() == 0) return;
  words_ = &words;
  std::vector<int64_t> fit;
  for (int64_t s = 0; s < valid_->sentences(); ++s)
    if (valid_->length(s) > 2 && valid_->length(s) <= std::min(kLongestShown, model_.window()))
      fit.push_back(s);
  const int64_t count = std::min(sentences, std::ssize(fit));
  for (int64_t i = 0; i < count; ++i)
    samples_.push_back(fit[static_cast<size_t>(i * std::ssize(fit) / count)]);
}

void LanguageModelTask::look_at_samples(Tape& tape) {
  attention_.clear();
  for (const int64_t s : samples_) {
    tape.reset();
    attention_.push_back(model_.attention(tape, read_words(valid_->sentence(s))));
  }
  tape.reset();
}

std::vector<Json> LanguageModelTask::validation_samples() const {
  std::vector<Json> events;
  for (size_t i = 0; i < attention_.size(); ++i) {
    const auto sentence = valid_->sentence(samples_[i]);
    Json rows = Json::array();
    for (size_t t = 0; t < sentence.size(); ++t) {
      Json row = Json::array();
      for (size_t s = 0; s < sentence.size(); ++s)
        row.push_back(std::lround(1000 * attention_[i][t * sentence.size() + s]));
      rows.push_back(row);
    }
    events.push_back({{"event", "attention"},
                      {"line", samples_[i] + 1},
                      {"read", json_words(*words_, read_words(sentence))},
                      {"predicted", json_words(*words_, sentence)},
                      {"attention", rows}});
  }
  return events;
}

}  // namespace nine
