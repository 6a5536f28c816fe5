// Translation as a trainer's task: batches of sentence pairs through a Transformer, validation by
// loss and BLEU.
#pragma once

#include "nn/training/translation_source.h"
#include "nn/training/translation_validation.h"

namespace nine {

/// What a translation model is validated on, and how.
struct MtValidation {
  const HeldOutPairs* text = nullptr;  ///< null: not at all
  const Vocabulary *source = nullptr, *target = nullptr;
  int64_t beam = 1;     ///< of the search whose BLEU is told; 0: nothing is translated
  int64_t samples = 0;  ///< translations shown in the log
};

class TranslationTask : public TrainingTask {
 public:
  /// All that is referred to, and the model, its parameters allocated, must outlive the task.
  /// Errors: PairBatches's.
  TranslationTask(const Transformer& model, const ParallelCorpus& train,
                  const MtValidation& validation, PairBatchSize size, uint64_t seed);

  int64_t fetch(int most) override { return batches_.fetch(most); }
  int count() const override { return batches_.count(); }
  Objective forward(Tape& tape, int i, double row_weight) override {
    return batches_.forward(tape, i, row_weight);
  }
  void commit() override { batches_.commit(); }

  void start_epoch(int64_t epoch) override { source_.start_epoch(epoch); }
  bool epoch_finished() const override { return source_.position().step == source_.steps(); }
  double epoch_share() const override {
    return static_cast<double>(source_.position().step) / static_cast<double>(source_.steps());
  }
  nlohmann::ordered_json position() const override;
  void seek(const nlohmann::ordered_json& position) override;
  std::vector<NamedView> state() const override { return batches_.mixture_weight_stats().named(); }
  void load_state(const Safetensors& file) override { batches_.mixture_weight_stats().load(file); }
  MixtureWeightStats* mixture_weight_stats() override {
    return batches_.mixture_weight_stats().sums() ? &batches_.mixture_weight_stats() : nullptr;
  }
  std::vector<NamedView> constants() const override {
    return {{kPositionsName, model_.positions()}};
  }
  bool has_validation() const override { return validation_.text != nullptr; }
  Evaluation validate(Tape& tape) override;
  /// `translation` events of the last validation: `line` in its text, `src`, `ref`, `hyp`;
  /// `src_tokens` and `hyp_tokens` as the model has them, and `attention`, for each of the latter a
  /// row of shares, the source's tokens and </s>, in thousandths.
  std::vector<nlohmann::ordered_json> validation_samples() const override;

  /// The batches of an update as the step takes them.
  TranslationSource& batches() { return batches_; }
  const PairBatches& source() const { return source_; }

 private:
  void choose_samples();
  std::vector<Translator::Ids> sample_sources() const;

  const Transformer& model_;
  MtValidation validation_;
  PairBatchSize size_;
  PairBatches source_;
  PairBatch batch_;
  TranslationSource batches_;
  std::vector<int64_t> samples_;   // pairs of the validation text
  std::vector<Hypothesis> shown_;  // their translations in the last validation
};

}  // namespace nine
