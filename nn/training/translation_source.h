// Translation as a train step's data: batches of sentence pairs, from wherever they are made,
// through a Transformer.
#pragma once

#include <functional>
#include <vector>

#include "nn/models/transformer.h"
#include "nn/training/mixture_weight_stats.h"
#include "nn/training/train_step.h"

namespace nine {

class TranslationSource : public TrainingSource {
 public:
  /// Puts the next micro-batch into its argument; false: there is none.
  using Source = std::function<bool(TranslationBatch&)>;

  /// The model, its parameters allocated, must outlive this.
  TranslationSource(const Transformer& model, Source next);

  /// Error: the source had none left.
  int64_t fetch(int most) override;
  int count() const override { return static_cast<int>(batches_.size()); }
  Objective forward(Tape& tape, int i, double row_weight) override;
  void commit() override {}

  /// Of a mixture's prior over everything that went forward since it was last cleared; empty where
  /// there is no mixture.
  MixtureWeightStats& mixture_weight_stats() { return prior_; }
  const MixtureWeightStats& mixture_weight_stats() const { return prior_; }

  /// Micro-batch i of the last fetch.
  const TranslationBatch& batch(int i) const { return batches_[static_cast<size_t>(i)]; }

 private:
  const Transformer& model_;
  Source next_;
  std::vector<TranslationBatch> batches_;
  MixtureWeightStats prior_;
};

}  // namespace nine
