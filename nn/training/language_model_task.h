// Language modelling as a training task: batches of text go through a LanguageNetwork; validation.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "data/lm_batches.h"
#include "data/vocabulary.h"
#include "nn/models/language_network.h"
#include "nn/training/process_shares.h"
#include "nn/training/trainer.h"

namespace nine {

/// Says from which state a sentence of validation or test text is read.
enum class EvaluationState : uint8_t {
  carried,  ///< that after the sentence before it (evaluate_carried)
  fresh     ///< a state of zeros (evaluate_sentences)
};

/// The settings for cutting a text into batches.
struct LmBatching {
  int64_t batch = 32;  ///< columns, or sentences, of a micro-batch
  int64_t bptt = 35;   ///< time steps of a segment; for a network with a window, its window
  /// true: each sentence on its own (SentenceBatches). false: truncated back-propagation through
  /// columns with carried state (ColumnBatches).
  bool sentences = false;
  /// With `sentences`: the most positions of a batch, padding included; 0: `batch` gives its size.
  int64_t batch_tokens = 0;
  uint64_t seed = 1;                      ///< of the order of the sentences
  TextOrder order = TextOrder::shuffled;  ///< of the training text, if it is cut into columns
  /// Micro-batches of an update. The text is cut into accumulate * batch columns. Micro-batch i has
  /// columns i * batch to (i + 1) * batch - 1; all micro-batches have the same rows.
  int accumulate = 1;
  /// With several processes, each computes the same number of micro-batches (MicroBatchSlots).
  /// null: one process.
  Communicator* communicator = nullptr;
  /// How validation reads its text.
  EvaluationState evaluation = EvaluationState::carried;
  /// Of the training text, if it is cut into columns, and of the validation text.
  Remainder remainder = Remainder::read;
};

/// Trains a LanguageNetwork.
class LanguageModelTask : public EpochTask {
 public:
  /// valid may be null: then the task has no validation. The corpora and the model must outlive the
  /// task, and the model's parameters must be allocated. Error: a text too small for one batch.
  LanguageModelTask(const LanguageNetwork& model, const Corpus& train, const Corpus* valid,
                    const LmBatching& batching);

  /// Error: with carried state, `most` other than LmBatching::accumulate.
  int64_t fetch(int most) override;
  int count() const override { return count_; }
  /// With columns: returns the tokens of a whole segment, so that each token of an epoch has the
  /// same weight.
  int64_t weighing_tokens(int64_t fetched) const override {
    return carry_state_ ? batch_size_ * slots_.all * bptt_ : fetched;
  }
  Objective forward(Tape& tape, int i, double row_weight) override;
  void commit() override;
  void statistics(std::vector<StepStatistic>& out) override;

  void start_epoch(int64_t epoch) override;
  std::vector<NamedView> state() override;
  void load_state(const Safetensors& file) override;
  MixtureWeightStats* mixture_weight_stats() override {
    return mixture_weights_.sums() ? &mixture_weights_ : nullptr;
  }
  const SoftmaxHead* head() const override { return &model_.head(); }
  bool has_validation() const override { return valid_ != nullptr; }
  Evaluation validate(Tape& tape) override;
  /// For a network with attention: makes validation_samples() return the attention of `sentences`
  /// sentences of the validation text, as words of `words`. The vocabulary must outlive the task.
  void show_attention(const Vocabulary& words, int64_t sentences);
  std::vector<Json> validation_samples() const override;

  /// Micro-batch i of the last fetch, which must belong to this process: (time steps, columns)
  /// int32; targets -1: no target.
  const Tensor& input(int i) const { return own(i).input; }
  const Tensor& target(int i) const { return own(i).target; }
  /// Returns the number of updates from whole segments with which an epoch begins; empty with
  /// LmBatching::sentences.
  std::optional<int64_t> whole_segments() const;
  Remainder remainder() const { return remainder_; }
  EvaluationState evaluation() const { return evaluation_; }
  /// Evaluates a text as validation does. Every process of `communicator` gets the result.
  Evaluation evaluate(Tape& tape, const Corpus& text,
                      Communicator& communicator = one_process()) const;

 private:
  struct MicroBatch {
    // Of this shape, in the memory of the largest micro-batch so far.
    Tensor input, target;
    Tensor factors;  // of the targets' losses; empty if the text has no weights
    Tensor input_room, target_room, factors_room;  // that memory
    int64_t tokens = 0;
    LanguageNetwork::Unpadded unpadded;  // set if padded_
  };

  LanguageModelTask(const LanguageNetwork& model, const Corpus* valid, const LmBatching& batching,
                    std::unique_ptr<BatchStream<LmBatch>> stream);
  const MicroBatch& own(int i) const { return batches_[static_cast<size_t>(i - slots_.first)]; }
  MicroBatch& own(int i) { return batches_[static_cast<size_t>(i - slots_.first)]; }
  int64_t fetch_columns();
  int64_t fetch_sentences(int most);
  void set_columns(MicroBatch& to, const Shape& shape, size_t first) const;
  void set_pair_shares(int64_t all_pairs, double weight);
  void set_factors(int64_t tokens);
  void look_at_samples(Tape& tape);

  const LanguageNetwork& model_;
  const Corpus* valid_;
  std::unique_ptr<BatchStream<LmBatch>> stream_;
  MicroBatchSlots slots_;
  Communicator& communicator_;
  int64_t batch_size_, bptt_;
  bool carry_state_;  // true: from segment to segment; false: each batch starts from zeros
  Remainder remainder_;
  EvaluationState evaluation_;
  bool padded_ = false;  // the last fetch may have padding
  MixtureWeightStats mixture_weights_;
  CarriedState carried_;                     // of this process's columns, before the update
  CarriedState next_carried_;                // after the update's micro-batches so far
  std::optional<CarriedState> all_carried_;  // of all columns, for a checkpoint
  std::vector<MicroBatch> batches_;          // of this process
  LmBatch batch_;                            // the stream's last batch
  std::vector<LstmState> state_;             // on the tape
  int count_ = 0;
  // The words of the sentences whose attention is shown.
  const Vocabulary* words_ = nullptr;
  std::vector<int64_t> samples_;                // the indices of these sentences
  std::vector<std::vector<double>> attention_;  // of each sentence, at the last validation
};

}  // namespace nine
