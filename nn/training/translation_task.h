// Translation as a training task: batches of sentence pairs through a Transformer, validation by
// loss and BLEU.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/communicator.h"
#include "data/measures/bleu.h"
#include "data/pair_batches.h"
#include "nn/models/beam_search.h"
#include "nn/models/transformer.h"
#include "nn/training/mixture_weight_stats.h"
#include "nn/training/process_shares.h"
#include "nn/training/trainer.h"

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

/// A text to evaluate on.
struct HeldOutPairs {
  ParallelCorpus pairs;
  std::vector<std::string> references;  ///< the target lines of these pairs, as in the text
};

/// A batch of a corpus as the model takes it.
TranslationBatch to_translation_batch(const PairBatch& batch);

/// Nats of the targets given their sources, in batches of at most that size (a longer pair goes
/// alone); nothing is recorded. Several processes share the batches out; the result is the same in
/// each.
Evaluation evaluate_pairs(const Transformer& model, Tape& tape, const ParallelCorpus& pairs,
                          PairBatchSize size, Communicator& communicator = one_process());

/// SearchOptions' defaults with that beam, but translations are at most about twice as long as the
/// text's longest sentence: an untrained model may never choose </s>, and such a translation has a
/// BLEU near 0 at any length.
SearchOptions validation_search(const ParallelCorpus& pairs, int64_t beam);

/// The ids of pair i's source without </s>, as a BeamSearch takes them.
BeamSearch::Ids source_words(const ParallelCorpus& pairs, int64_t i);

/// The best translation of each pair's source, as text with subwords joined. Several processes
/// share the pairs out; each gets all translations.
std::vector<std::string> translate_pairs(const BeamSearch& beam_search, const ParallelCorpus& pairs,
                                         const Vocabulary& target, const SearchOptions& search,
                                         Communicator& communicator = one_process());

/// BLEU of such translations; subwords in the references are joined too, and white space separates
/// the words of both.
BleuScore tokenised_bleu(const std::vector<std::string>& translations, const HeldOutPairs& text);

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
