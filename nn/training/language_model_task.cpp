#include "nn/training/language_model_task.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/ops.h"

namespace nine {
namespace {

SentenceBatchSize sentence_size(const LmBatching& b) {
  return b.batch_tokens > 0 ? SentenceBatchSize{.tokens = b.batch_tokens}
                            : SentenceBatchSize{.sentences = b.batch};
}

Tensor ids_of(const std::vector<int32_t>& ids, int64_t rows, int64_t cols) {
  return Tensor::from(ids, {rows, cols});
}

}  // namespace

LanguageModelTask::LanguageModelTask(const LanguageModel& model, const Corpus& train,
                                     const Corpus* valid, const LmBatching& batching)
    : model_(model),
      valid_(valid),
      batching_(batching),
      now_(model.new_state(batching.batch)),
      next_(model.new_state(batching.batch)) {
  if (model.config().head.spec.mixture)
    prior_ = MixtureWeightStats(model.config().head.spec.size());
  if (valid != nullptr)
    EvalSegments check(*valid);  // too small a text must show now, not after an epoch
  if (batching.sentences) {
    sentences_ = std::make_unique<SentenceBatches>(train, sentence_size(batching), batching.seed);
  } else {
    columns_ = std::make_unique<ColumnBatches>(train, batching.batch, batching.bptt, batching.seed);
  }
  start_epoch(0);
}

void LanguageModelTask::start_epoch(int64_t epoch) {
  if (columns_) {
    columns_->start_epoch(epoch);
    now_.clear();
  } else {
    sentences_->start_epoch(epoch);
  }
}

bool LanguageModelTask::epoch_finished() const {
  return columns_ ? columns_->position().step == columns_->steps_per_epoch()
                  : sentences_->position().step == sentences_->steps();
}

double LanguageModelTask::epoch_share() const {
  return columns_ ? static_cast<double>(columns_->position().step) /
                        static_cast<double>(columns_->steps_per_epoch())
                  : static_cast<double>(sentences_->position().step) /
                        static_cast<double>(sentences_->steps());
}

std::optional<int64_t> LanguageModelTask::micro_batches_per_epoch() const {
  if (!columns_) return std::nullopt;
  return columns_->steps_per_epoch();
}

nlohmann::ordered_json LanguageModelTask::position() const {
  const BatchPosition p = columns_ ? columns_->position() : sentences_->position();
  return {{"epoch", p.epoch}, {"step", p.step}};
}

void LanguageModelTask::seek(const nlohmann::ordered_json& position) {
  const BatchPosition p{position.at("epoch").get<int64_t>(), position.at("step").get<int64_t>()};
  if (columns_) {
    columns_->seek(p);
  } else {
    sentences_->seek(p);
  }
}

bool LanguageModelTask::fetch_one(size_t i) {
  if (inputs_.size() == i) {
    inputs_.emplace_back();
    targets_.emplace_back();
    tokens_.emplace_back();
  }
  if (columns_) {
    if (!inputs_[i]) {
      inputs_[i] = Tensor({batching_.bptt, batching_.batch}, DType::int32);
      targets_[i] = Tensor({batching_.bptt, batching_.batch}, DType::int32);
    }
    return columns_->next(inputs_[i].data<int32_t>(), targets_[i].data<int32_t>());
  }
  if (!sentences_->next(batch_)) return false;
  inputs_[i] = ids_of(batch_.input, batch_.rows, batch_.cols);
  targets_[i] = ids_of(batch_.target, batch_.rows, batch_.cols);
  tokens_[i] = batch_.tokens;
  return true;
}

int64_t LanguageModelTask::fetch(int most) {
  count_ = 0;
  int64_t tokens = 0;
  while (count_ < most && fetch_one(static_cast<size_t>(count_))) {
    tokens += tokens_of(static_cast<size_t>(count_));
    ++count_;
  }
  require(count_ > 0, "[LanguageModelTask] an epoch's end was passed without start_epoch");
  return tokens;
}

TrainingSource::Objective LanguageModelTask::forward(Tape& tape, int i, double row_weight) {
  const Tensor &x = input(i), &y = target(i);
  if (columns_) {
    (i == 0 ? now_ : next_).on(tape, state_vars_);
  } else {
    model_.new_state(x.shape()[1]).on(tape, state_vars_);
  }
  const LanguageModel::Hidden hidden = model_.run(tape, x, state_vars_);
  if (columns_) next_.store(state_vars_);
  const Var penalty = model_.regulariser(
      hidden, x.shape()[1], row_weight * static_cast<double>(tokens_of(static_cast<size_t>(i))));
  const SoftmaxLoss out = model_.loss(hidden.output, y, row_weight);
  if (out.prior) prior_.add(out.prior.value(), y);
  return {penalty ? add(out.loss, penalty) : out.loss, out.nll};
}

std::vector<NamedView> LanguageModelTask::state() const {
  std::vector<NamedView> all = now_.named("carry.");
  for (const NamedView& sums : prior_.named()) all.push_back(sums);
  return all;
}

void LanguageModelTask::load_state(const Safetensors& file) {
  now_.load(file, "carry.");
  prior_.load(file);
}

void LanguageModelTask::commit() {
  if (columns_) now_.copy_from(next_);
}

Evaluation LanguageModelTask::validate(Tape& tape) {
  return evaluate_carried(model_, tape, *valid_);
}

Evaluation evaluate_carried(const LanguageModel& model, Tape& tape, const Corpus& text,
                            int64_t columns, int64_t segment, std::vector<double>* token_nats) {
  const NoGrad guard(tape);
  EvalSegments segments(text, columns, segment);
  CarriedState carried = model.new_state(columns);
  std::vector<LstmState> state;
  LmBatch batch;
  Evaluation result;
  if (model.config().head.spec.mixture)
    result.prior = MixtureWeightStats(model.config().head.spec.size());
  if (token_nats != nullptr)
    token_nats->assign(static_cast<size_t>(text.tokens()),
                       std::numeric_limits<double>::quiet_NaN());
  int64_t row = 0;
  while (segments.next(batch)) {
    tape.reset();
    carried.on(tape, state);
    const Var hidden = model.encode(tape, ids_of(batch.input, batch.rows, batch.cols), state);
    carried.store(state);
    const Tensor targets = ids_of(batch.target, batch.rows, batch.cols);
    const SoftmaxLoss out = model.loss(hidden, targets, 1.0);
    const std::vector<double> nats = out.nll.value().to_vector();
    if (out.prior) result.prior.add(out.prior.value(), targets);
    result.nats += std::accumulate(nats.begin(), nats.end(), 0.0);
    result.tokens += batch.tokens;
    if (token_nats != nullptr) {
      // Column c holds the tokens from c * rows() on.
      for (int64_t r = 0; r < batch.rows; ++r)
        for (int64_t c = 0; c < columns; ++c)
          (*token_nats)[static_cast<size_t>(c * segments.rows() + row + r)] =
              nats[static_cast<size_t>(r * columns + c)];
    }
    row += batch.rows;
  }
  tape.reset();
  return result;
}

namespace {

// Sentences first ... first + cols - 1 side by side, `rows` long with padding.
struct SideBySide {
  std::vector<int32_t> input, target;
  SideBySide(const Corpus& text, int64_t first, int64_t cols, int64_t rows)
      : input(static_cast<size_t>(rows * cols), LmBatch::kPaddingInput),
        target(input.size(), LmBatch::kPaddingTarget) {
    const auto at = [cols](size_t t, int64_t c) {
      return t * static_cast<size_t>(cols) + static_cast<size_t>(c);
    };
    for (int64_t c = 0; c < cols; ++c) {
      const auto sentence = text.sentence(first + c);
      for (size_t t = 0; t < sentence.size(); ++t) {
        target[at(t, c)] = sentence[t];
        if (t + 1 < sentence.size()) input[at(t + 1, c)] = sentence[t];
      }
    }
  }
};

}  // namespace

void encode_sentences(const LanguageModel& model, Tape& tape, const Corpus& text,
                      int64_t batch_tokens,
                      const std::function<void(const EncodedSentences&)>& visit) {
  const NoGrad guard(tape);
  std::vector<LstmState> state;
  for (int64_t first = 0; first < text.sentences();) {
    // Neighbours in the text, as many as fit: results come in order and need not be kept.
    int64_t last = first, rows = 0;
    while (last < text.sentences()) {
      const int64_t longest = std::max(rows, text.length(last));
      if (last > first && longest * (last - first + 1) > batch_tokens) break;
      rows = longest;
      ++last;
    }
    const int64_t cols = last - first;
    const SideBySide batch(text, first, cols, rows);
    CarriedState carried = model.new_state(cols);
    for (int64_t begin = 0; begin < rows;
         begin += batch_tokens) {  // once, unless one sentence alone is too long
      const int64_t part = std::min(batch_tokens, rows - begin);
      const auto ids = [&](const std::vector<int32_t>& all) {
        return ids_of({all.begin() + begin * cols, all.begin() + (begin + part) * cols}, part,
                      cols);
      };
      tape.reset();
      carried.on(tape, state);
      const Var hidden = model.encode(tape, ids(batch.input), state);
      carried.store(state);
      visit({first, cols, begin, part, hidden, ids(batch.target)});
    }
    first = last;
  }
  tape.reset();
}

void score_sentences(const LanguageModel& model, Tape& tape, const Corpus& text,
                     int64_t batch_tokens,
                     const std::function<void(int64_t, std::span<const double>)>& visit) {
  std::vector<double> own;
  encode_sentences(model, tape, text, batch_tokens, [&](const EncodedSentences& batch) {
    const std::vector<double> nats =
        model.loss(batch.hidden, batch.targets, 1.0).nll.value().to_vector();
    for (int64_t c = 0; c < batch.count; ++c) {
      const int64_t length = text.length(batch.first + c);
      if (batch.begin == 0) own.clear();
      for (int64_t t = 0; t < std::min(batch.rows, length - batch.begin); ++t)
        own.push_back(nats[static_cast<size_t>(t * batch.count + c)]);
      if (std::ssize(own) == length) visit(batch.first + c, own);
    }
  });
}

}  // namespace nine
