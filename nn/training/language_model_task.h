// Language modelling as a training task: batches of text through a LanguageNetwork, and
// validation.
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

/// How a text is cut for training.
struct LmBatching {
  int64_t batch = 32;  ///< columns, or sentences, of a micro-batch
  int64_t bptt = 35;   ///< time steps of a segment; of a network with a window, its window
  /// Each sentence on its own (SentenceBatches) instead of truncated back-propagation through
  /// columns with carried state (ColumnBatches).
  bool sentences = false;
  /// With `sentences`: the most positions of a batch, padding counted; 0: `batch` says its size.
  int64_t batch_tokens = 0;
  uint64_t seed = 1;  ///< of the order of sentences
  /// Micro-batches of an update. The text is cut into accumulate * batch columns, of which
  /// micro-batch i has columns i * batch to (i + 1) * batch - 1, all at the same rows.
  int accumulate = 1;
  /// Of several processes each computes as many of the micro-batches (MicroBatchSlots); null: one.
  Communicator* communicator = nullptr;
  /// Of the text, where it is cut into columns, and of the validation text.
  Remainder remainder = Remainder::read;
};

/// Trains a LanguageNetwork.
class LanguageModelTask : public EpochTask {
 public:
  /// valid may be null: nothing is validated. The corpora and the model, its parameters allocated,
  /// must outlive the task. Error: a text that is too small for one batch.
  LanguageModelTask(const LanguageNetwork& model, const Corpus& train, const Corpus* valid,
                    const LmBatching& batching);

  /// Error: with carried state, `most` other than LmBatching::accumulate.
  int64_t fetch(int most) override;
  int count() const override { return count_; }
  /// With columns those of a whole segment: each token of an epoch counts alike.
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
  /// Of a network with attention: validation_samples() gives it for `sentences` sentences of the
  /// validation text, in these words. The vocabulary must outlive the task.
  void show_attention(const Vocabulary& words, int64_t sentences);
  std::vector<Json> validation_samples() const override;

  /// Micro-batch i, one of this process, of the last fetch: (time steps, columns) int32, targets -1
  /// where there is none.
  const Tensor& input(int i) const { return own(i).input; }
  const Tensor& target(int i) const { return own(i).target; }
  /// An epoch's updates from whole segments, with which it begins; none with LmBatching::sentences.
  std::optional<int64_t> whole_segments() const;
  Remainder remainder() const { return remainder_; }

 private:
  struct MicroBatch {
    Tensor input, target;            // of this shape, in the memory of the largest so far
    Tensor input_room, target_room;  // that memory
    int64_t tokens = 0;
    LanguageNetwork::Unpadded unpadded;  // where padded_
  };

  LanguageModelTask(const LanguageNetwork& model, const Corpus* valid, const LmBatching& batching,
                    std::unique_ptr<BatchStream<LmBatch>> stream);
  const MicroBatch& own(int i) const { return batches_[static_cast<size_t>(i - slots_.first)]; }
  MicroBatch& own(int i) { return batches_[static_cast<size_t>(i - slots_.first)]; }
  int64_t fetch_columns();
  int64_t fetch_sentences(int most);
  void set_columns(MicroBatch& to, const Shape& shape, size_t first) const;
  void set_pair_shares(int64_t all_pairs, double weight);
  void look_at_samples(Tape& tape);

  const LanguageNetwork& model_;
  const Corpus* valid_;
  std::unique_ptr<BatchStream<LmBatch>> stream_;
  MicroBatchSlots slots_;
  Communicator& communicator_;
  int64_t batch_size_, bptt_;
  bool carry_state_;  // from segment to segment; otherwise each batch starts from zeros
  Remainder remainder_;
  bool padded_ = false;  // the last fetch may have padding
  MixtureWeightStats mixture_weights_;
  CarriedState carried_;                     // of this process's columns, before the update
  CarriedState next_carried_;                // after the micro-batches of this update so far
  std::optional<CarriedState> all_carried_;  // of all columns, for a checkpoint
  std::vector<MicroBatch> batches_;          // of this process
  LmBatch batch_;                            // the stream's last one
  std::vector<LstmState> state_;             // on the tape
  int count_ = 0;
  const Vocabulary* words_ = nullptr;           // of the sentences whose attention is shown
  std::vector<int64_t> samples_;                // these sentences
  std::vector<std::vector<double>> attention_;  // of each, at the last validation
};

}  // namespace nine
