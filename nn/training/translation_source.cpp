#include "nn/training/translation_source.h"

#include "nn/training/head_statistics.h"

namespace nine {

TranslationSource::TranslationSource(const Transformer& model, NextBatch next,
                                     std::optional<MicroBatchSlots> own)
    : model_(model),
      next_(std::move(next)),
      own_(own),
      mixture_weights_(
          MixtureWeightStats::of(model.config().head.spec, model.parameters().device())) {}

int64_t TranslationSource::fetch(int most) {
  batches_.clear();
  count_ = 0;
  int64_t tokens = 0;
  TranslationBatch batch;
  for (; count_ < most && next_(batch); ++count_) {
    tokens += batch.tokens;
    if (!own_ || own_->has(count_)) batches_.push_back(batch);
  }
  require(tokens > 0,
          "[TranslationSource] there is nothing to predict: the source is at its end, or gave "
          "batches without targets");
  return tokens;
}

TrainingSource::Objective TranslationSource::forward(Tape& tape, int i, double row_weight) {
  const TranslationBatch& b = batch(i);
  const SoftmaxLoss out = model_.loss(tape, b, row_weight);
  const Var penalty = model_.regulariser(tape, row_weight * static_cast<double>(b.tokens));
  if (out.prior) mixture_weights_.add(out.prior.value(), b.tgt_out);
  return {penalty ? add(out.loss, penalty) : out.loss, out.nll};
}

void TranslationSource::statistics(std::vector<StepStatistic>& out) {
  add_head_statistics(model_.head(), mixture_weights_, out);
}

}  // namespace nine
