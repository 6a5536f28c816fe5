// Translation as a trainer's task: batches of sentence pairs through a Transformer, validation by loss.
#pragma once

#include <memory>

#include "data/pair_batches.h"
#include "nn/mt_batches.h"
#include "nn/trainer.h"

namespace nine {

/// A batch of a corpus as the model takes it.
TranslationBatch to_translation_batch(const PairBatch& batch);

/// Nats of the targets given their sources, in batches of at most that size (a longer pair goes alone); nothing is recorded.
Evaluation evaluate_pairs(const Transformer& model, Tape& tape, const ParallelCorpus& pairs, PairBatchSize size);

class MtTask : public TrainerTask {
 public:
  /// valid may be null: nothing is validated. The corpora and the model, its parameters allocated, must outlive the task. Errors:
  /// PairBatches's.
  MtTask(const Transformer& model, const ParallelCorpus& train, const ParallelCorpus* valid, PairBatchSize size, uint64_t seed);

  int64_t fetch(int most) override { return batches_.fetch(most); }
  int count() const override { return batches_.count(); }
  Objective forward(Tape& tape, int i, double row_weight) override { return batches_.forward(tape, i, row_weight); }
  void accept() override { batches_.accept(); }

  void start_epoch(int64_t epoch) override { source_.start_epoch(epoch); }
  bool epoch_finished() const override { return source_.position().step == source_.steps(); }
  double epoch_share() const override { return static_cast<double>(source_.position().step) / static_cast<double>(source_.steps()); }
  nlohmann::ordered_json position() const override;
  void seek(const nlohmann::ordered_json& position) override;
  std::vector<NamedView> state() const override { return {}; }
  void load_state(const Safetensors&) override {}
  std::vector<NamedView> constants() const override { return {{kPositionsName, model_.positions()}}; }
  bool has_validation() const override { return valid_ != nullptr; }
  Evaluation validate(Tape& tape) override;

  /// The batches of an update as the step takes them.
  MtBatches& batches() { return batches_; }
  const PairBatches& source() const { return source_; }

 private:
  const Transformer& model_;
  const ParallelCorpus* valid_;
  PairBatchSize size_;
  PairBatches source_;
  PairBatch batch_;
  MtBatches batches_;
};

}  // namespace nine
