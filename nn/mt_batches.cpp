#include "nn/mt_batches.h"

namespace nine {

int64_t MtBatches::fetch(int most) {
  batches_.clear();
  int64_t tokens = 0;
  TranslationBatch batch;
  while (count() < most && next_(batch)) {
    tokens += batch.tokens;
    batches_.push_back(batch);
  }
  require(tokens > 0, "[MtBatches] there is nothing to predict: the source is at its end, or gave batches without targets");
  return tokens;
}

MicroBatches::Objective MtBatches::forward(Tape& tape, int i, double row_weight) {
  const SoftmaxLoss out = model_.loss(tape, batch(i), row_weight);
  return {out.loss, out.nll};
}

}  // namespace nine
