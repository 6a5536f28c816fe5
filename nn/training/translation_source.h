// Batches of sentence pairs, from any function, through a Transformer: the source of a training
// step.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "nn/models/transformer.h"
#include "nn/training/micro_batches.h"
#include "nn/training/mixture_weight_stats.h"
#include "nn/training/train_step.h"

namespace nine {

/// Feeds batches of sentence pairs to a Transformer.
class TranslationSource : public TrainingSource {
 public:
  /// Puts the next micro-batch into its argument; false: there is none.
  using NextBatch = std::function<bool(TranslationBatch&)>;

  /// The model, its parameters allocated, must outlive this.
  TranslationSource(const Transformer& model, NextBatch next)
      : TranslationSource(model, std::move(next), std::nullopt) {}
  /// Of several processes: keeps the micro-batches of `own` slots alone.
  TranslationSource(const Transformer& model, NextBatch next, std::optional<MicroBatchSlots> own);

  /// Error: there is no further batch.
  int64_t fetch(int most) override;
  int count() const override { return count_; }
  Objective forward(Tape& tape, int i, double row_weight) override;
  void commit() override {}
  void statistics(std::vector<StepStatistic>& out) override;

  /// Of a mixture's components over all forward passes since it was last cleared; empty where there
  /// is no mixture.
  MixtureWeightStats& mixture_weight_stats() { return mixture_weights_; }
  const MixtureWeightStats& mixture_weight_stats() const { return mixture_weights_; }

  /// Micro-batch i, one of this process, of the last fetch.
  const TranslationBatch& batch(int i) const {
    return batches_[static_cast<size_t>(own_ ? i - own_->first : i)];
  }

 private:
  const Transformer& model_;
  NextBatch next_;
  std::optional<MicroBatchSlots> own_;  // otherwise all
  std::vector<TranslationBatch> batches_;
  int count_ = 0;
  MixtureWeightStats mixture_weights_;
};

}  // namespace nine
