// Language modelling as a trainer's task: batches of text through a LanguageModel, validation,
// scoring.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "data/lm_batches.h"
#include "nn/models/language_model.h"
#include "nn/training/trainer.h"

namespace nine {

/// How a text is cut for training.
struct LmBatching {
  int64_t batch = 32;  ///< columns, or sentences
  int64_t bptt = 35;   ///< rows of a segment
  bool sentences =
      false;  ///< each sentence on its own instead of truncated back-propagation with carried state
  int64_t batch_tokens = 0;  ///< sentences: positions a batch instead of `batch`
  uint64_t seed = 1;
};

class LanguageModelTask : public TrainingTask {
 public:
  /// valid may be null: nothing is validated. The corpora and the model, its parameters allocated,
  /// must outlive the task. Errors: a text too small for one batch.
  LanguageModelTask(const LanguageModel& model, const Corpus& train, const Corpus* valid,
                    const LmBatching& batching);

  int64_t fetch(int most) override;
  int count() const override { return count_; }
  Objective forward(Tape& tape, int i, double row_weight) override;
  void commit() override;

  void start_epoch(int64_t epoch) override;
  bool epoch_finished() const override;
  double epoch_share() const override;
  nlohmann::ordered_json position() const override;
  void seek(const nlohmann::ordered_json& position) override;
  std::vector<NamedView> state() const override;
  void load_state(const Safetensors& file) override;
  MixtureWeightStats* mixture_weight_stats() override { return prior_.sums() ? &prior_ : nullptr; }
  bool has_validation() const override { return valid_ != nullptr; }
  Evaluation validate(Tape& tape) override;

  /// Micro-batch i of the last fetch: rows x columns, int32, targets -1 where there is none.
  const Tensor& input(int i) const { return inputs_[static_cast<size_t>(i)]; }
  const Tensor& target(int i) const { return targets_[static_cast<size_t>(i)]; }
  /// Batches an epoch, when all have the same size (not in sentence mode).
  std::optional<int64_t> micro_batches_per_epoch() const;

 private:
  bool fetch_one(size_t i);
  int64_t tokens_of(size_t i) const {
    return columns_ ? batching_.batch * batching_.bptt : tokens_[i];
  }

  const LanguageModel& model_;
  const Corpus* valid_;
  LmBatching batching_;
  std::unique_ptr<ColumnBatches> columns_;
  std::unique_ptr<SentenceBatches> sentences_;
  MixtureWeightStats prior_;
  CarriedState now_, next_;  // before the update, and after its micro-batches so far
  std::vector<Tensor> inputs_, targets_;
  std::vector<int64_t> tokens_;  // of each micro-batch; sentences only
  LmBatch batch_;
  std::vector<LstmState> state_vars_;
  int count_ = 0;
};

}  // namespace nine
