#include "nn/mt_task.h"

#include <nlohmann/json.hpp>
#include <numeric>

namespace nine {

TranslationBatch to_translation_batch(const PairBatch& b) {
  return {.src = Tensor::from(b.src, {b.pairs, b.src_cols}),
          .tgt_in = Tensor::from(b.tgt_in, {b.pairs, b.tgt_cols}),
          .tgt_out = Tensor::from(b.tgt_out, {b.pairs, b.tgt_cols}),
          .src_lengths = Tensor::from(b.src_lengths, {b.pairs}),
          .tgt_lengths = Tensor::from(b.tgt_lengths, {b.pairs}),
          .tokens = std::accumulate(b.tgt_lengths.begin(), b.tgt_lengths.end(), int64_t{0})};
}

Evaluation evaluate_pairs(const Transformer& model, Tape& tape, const ParallelCorpus& pairs, PairBatchSize size) {
  const NoGrad guard(tape);
  if (size.tokens > 0) size.tokens = std::max(size.tokens, pairs.longest());
  PairBatches batches(pairs, size, std::nullopt);
  Evaluation result;
  for (PairBatch batch; batches.next(batch);) {
    tape.reset();
    const TranslationBatch b = to_translation_batch(batch);
    const std::vector<double> nats = model.loss(tape, b, 1.0).nll.value().to_vector();
    result.nats += std::accumulate(nats.begin(), nats.end(), 0.0);
    result.tokens += b.tokens;
  }
  tape.reset();
  return result;
}

MtTask::MtTask(const Transformer& model, const ParallelCorpus& train, const ParallelCorpus* valid, PairBatchSize size, uint64_t seed)
    : model_(model), valid_(valid), size_(size), source_(train, size, seed), batches_(model, [this](TranslationBatch& out) {
        if (!source_.next(batch_)) return false;
        out = to_translation_batch(batch_);
        return true;
      }) {}

nlohmann::ordered_json MtTask::position() const { return {{"epoch", source_.position().epoch}, {"step", source_.position().step}}; }

void MtTask::seek(const nlohmann::ordered_json& position) { source_.seek({position.at("epoch").get<int64_t>(), position.at("step").get<int64_t>()}); }

Evaluation MtTask::validate(Tape& tape) { return evaluate_pairs(model_, tape, *valid_, size_); }

}  // namespace nine
