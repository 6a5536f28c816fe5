// Translation as a training task: batches of sentence pairs through a Transformer, validation by
// loss and BLEU.
#pragma once

#include <memory>
#include <vector>

#include "nn/training/epoch_task.h"
#include "nn/training/translation_source.h"
#include "nn/training/translation_validation.h"

namespace nine {

/// What a translation model is validated on, and how.
struct TranslationValidationConfig {
  const HeldOutPairs* text = nullptr;  ///< null: not at all
  const Vocabulary *source = nullptr, *target = nullptr;
  int64_t beam = 1;     ///< of the search whose BLEU is reported; 0: nothing is translated
  int64_t samples = 0;  ///< sample translations written to the log
  /// Of several processes, which share the work out; null: one.
  Communicator* communicator = nullptr;
};

/// Trains a Transformer.
class TranslationTask : public EpochTask {
 public:
  /// All that is referred to, and the model, its parameters allocated, must outlive the task. Of
  /// several processes each computes its `own` micro-batches.
  /// Errors: PairBatches's.
  TranslationTask(const Transformer& model, const ParallelCorpus& train,
                  const TranslationValidationConfig& validation, PairBatchSize size, uint64_t seed,
                  std::optional<MicroBatchSlots> own = std::nullopt);

  int64_t fetch(int most) override { return source_.fetch(most); }
  int count() const override { return source_.count(); }
  Objective forward(Tape& tape, int i, double row_weight) override {
    return source_.forward(tape, i, row_weight);
  }
  void commit() override { source_.commit(); }
  void statistics(std::vector<StepStatistic>& out) override { source_.statistics(out); }

  std::vector<NamedView> state() override;
  void load_state(const Safetensors& file) override;
  const SoftmaxHead* head() const override { return &model_.head(); }
  MixtureWeightStats* mixture_weight_stats() override {
    return source_.mixture_weight_stats().sums() ? &source_.mixture_weight_stats() : nullptr;
  }
  std::vector<NamedView> constants() const override {
    return {{kPositionsName, model_.positions()}};
  }
  bool has_validation() const override { return validation_.text != nullptr; }
  Evaluation validate(Tape& tape) override;
  /// `translation` events of the last validation: `line` in its text, `src`, `ref`, `hyp`;
  /// `src_tokens` and `hyp_tokens`, the model's subwords; `attention`, a row for each of the latter
  /// with a weight for each source token and </s>, in thousandths.
  std::vector<Json> validation_samples() const override;

  /// The micro-batches of an update and the model that they go through.
  TranslationSource& source() { return source_; }
  /// The training data's batches.
  const PairBatches& stream() const { return *stream_; }

 private:
  TranslationTask(const Transformer& model, const TranslationValidationConfig& validation,
                  PairBatchSize size, std::unique_ptr<PairBatches> stream,
                  std::optional<MicroBatchSlots> own);
  void choose_samples();
  std::vector<BeamSearch::Ids> sample_sources() const;

  const Transformer& model_;
  TranslationValidationConfig validation_;
  PairBatchSize size_;
  std::unique_ptr<PairBatches> stream_;
  PairBatch batch_;  // the stream's last one
  TranslationSource source_;
  std::vector<int64_t> samples_;                 // pairs of the validation text
  std::vector<Hypothesis> sample_translations_;  // in the last validation
};

}  // namespace nine
