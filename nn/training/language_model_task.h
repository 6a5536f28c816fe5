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

/// Nats of a whole text with carried state, as in validation (formats.md): file order, `columns`
/// columns, segments of `segment` rows. token_nats, when given, becomes the nats of each token of
/// the text, NaN for the remainder that fills no row and is left out.
Evaluation evaluate_carried(const LanguageModel& model, Tape& tape, const Corpus& text,
                            int64_t columns = 10, int64_t segment = 100,
                            std::vector<double>* token_nats = nullptr);

/// Neighbouring sentences of a text, each read from a fresh state; or a piece of one that is too
/// long to be read at once.
struct EncodedSentences {
  int64_t first = 0,
          count = 0;  ///< sentences first ... first + count - 1 of the text, one a column
  int64_t begin = 0,
          rows = 0;  ///< tokens begin ... begin + rows - 1 of each; begin is 0 but for later pieces
  Var hidden;  ///< (rows * count, hidden): row t * count + c is where token begin + t of column c
               ///< is predicted
  Tensor targets;  ///< (rows, count) int32: the tokens, -1 past a sentence's end
};
/// Calls visit for all sentences in the text's order, under NoGrad, one tape recording a call. At
/// most `batch_tokens` positions are computed at once; a longer sentence comes alone and in pieces,
/// its state carried from one to the next.
void encode_sentences(const LanguageModel& model, Tape& tape, const Corpus& text,
                      int64_t batch_tokens,
                      const std::function<void(const EncodedSentences&)>& visit);

/// Scores every sentence from a fresh state; calls visit(sentence, nats of each token, </s> last)
/// in the text's order. `batch_tokens` as in encode_sentences.
void score_sentences(const LanguageModel& model, Tape& tape, const Corpus& text,
                     int64_t batch_tokens,
                     const std::function<void(int64_t, std::span<const double>)>& visit);

}  // namespace nine
