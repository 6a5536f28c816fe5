#include "nn/training/language_model_task.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/ops.h"
#include "nn/models/score_text.h"

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
  if (model.config().head.mixture) prior_ = MixtureWeightStats(model.config().head.size());
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

}  // namespace nine
