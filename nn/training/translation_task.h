// Translation as a training task: batches of sentence pairs go through a Transformer; validation by
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
#include "nn/models/translation_text.h"
#include "nn/training/mixture_weight_stats.h"
#include "nn/training/process_shares.h"
#include "nn/training/trainer.h"

namespace nine {

/// Feeds batches of sentence pairs to a Transformer.
class TranslationSource : public TrainingSource {
 public:
  /// Puts the next micro-batch into its argument. Returns false if there is no further micro-batch.
  using NextBatch = std::function<bool(TranslationBatch&)>;

  /// The model must outlive this object; its parameters must be allocated.
  TranslationSource(const Transformer& model, NextBatch next)
      : TranslationSource(model, std::move(next), std::nullopt) {}
  /// With several processes: keeps only the micro-batches of the slots `own`.
  TranslationSource(const Transformer& model, NextBatch next, std::optional<MicroBatchSlots> own);

  /// Error: there is no further batch.
  int64_t fetch(int most) override;
  int count() const override { return count_; }
  Objective forward(Tape& tape, int i, double row_weight) override;
  void commit() override {}
  void statistics(std::vector<StepStatistic>& out) override;

  /// Returns the sums of a mixture's component weights over all forward passes since they were last
  /// cleared. Empty without a mixture.
  MixtureWeightStats& mixture_weight_stats() { return mixture_weights_; }
  const MixtureWeightStats& mixture_weight_stats() const { return mixture_weights_; }

  /// Returns micro-batch i of the last fetch, which must belong to this process.
  const TranslationBatch& batch(int i) const {
    return batches_[static_cast<size_t>(own_ ? i - own_->first : i)];
  }

 private:
  const Transformer& model_;
  NextBatch next_;
  std::optional<MicroBatchSlots> own_;  // empty: all micro-batches
  std::vector<TranslationBatch> batches_;
  int count_ = 0;
  MixtureWeightStats mixture_weights_;
};

/// A text for evaluation.
struct HeldOutPairs {
  ParallelCorpus pairs;
  std::vector<std::string> references;  ///< the target lines of these pairs, as in the text
};

/// Converts a batch of a corpus to the model's form.
TranslationBatch to_translation_batch(const PairBatch& batch);

/// Computes -log p of the targets given their sources, in nats, in batches of at most `size` (a
/// longer pair is a batch by itself). Records nothing. Several processes share the batches out;
/// each gets the same result.
Evaluation evaluate_pairs(const Transformer& model, Tape& tape, const ParallelCorpus& pairs,
                          PairBatchSize size, Communicator& communicator = one_process());

/// Returns SearchOptions' defaults with this beam and a limit on the length: about twice the text's
/// longest sentence. An untrained model may never choose </s>, and a translation without </s> has a
/// BLEU near 0 at any length.
SearchOptions validation_search(const ParallelCorpus& pairs, int64_t beam);

/// Returns the ids of pair i's source without </s>, as a BeamSearch takes them.
BeamSearch::Ids source_words(const ParallelCorpus& pairs, int64_t i);

/// Returns the best translation of each pair's source, as prose or as words with joined subwords
/// (TranslationSide::text). Several processes share the pairs out; each gets all translations.
std::vector<std::string> translate_pairs(const BeamSearch& beam_search, const ParallelCorpus& pairs,
                                         const TranslationSide& target, const SearchOptions& search,
                                         Communicator& communicator = one_process());

/// Computes BLEU of translations from translate_pairs(). Of `raw` text the words are those of
/// sacreBLEU's tokenizer 13a. Of other text white space separates the words, after subwords are
/// joined in the references too.
BleuScore validation_bleu(const std::vector<std::string>& translations, const HeldOutPairs& text,
                          bool raw);

/// The settings of a translation model's validation.
struct TranslationValidationConfig {
  const HeldOutPairs* text = nullptr;  ///< null: no validation
  const TranslationSide *source = nullptr, *target = nullptr;
  int64_t beam = 1;     ///< of the search that gives BLEU; 0: no translation
  int64_t samples = 0;  ///< sample translations written to the log
  /// With several processes, which share the work out; null: one process.
  Communicator* communicator = nullptr;
};

/// Trains a Transformer.
class TranslationTask : public EpochTask {
 public:
  /// All referenced objects and the model must outlive the task; the model's parameters must be
  /// allocated. With several processes, each computes the micro-batches of its slots `own`. Errors:
  /// those of PairBatches.
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
    if (!model_.positions()) return {};
    return {{kPositionsName, model_.positions()}};
  }
  bool has_validation() const override { return validation_.text != nullptr; }
  Evaluation validate(Tape& tape) override;
  /// Returns the `translation` events of the last validation: `line`, its line in the text; `src`,
  /// `ref`, `hyp`; `src_tokens` and `hyp_tokens`, the model's subwords; `attention`, a row for each
  /// of hyp_tokens with a weight in thousandths for each source token and </s>.
  std::vector<Json> validation_samples() const override;

  /// Returns the source of an update's micro-batches.
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
  PairBatch batch_;  // the stream's last batch
  TranslationSource source_;
  std::vector<int64_t> samples_;                 // indices of pairs in the validation text
  std::vector<Hypothesis> sample_translations_;  // in the last validation
};

}  // namespace nine
