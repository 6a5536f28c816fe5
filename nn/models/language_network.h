// The common interface of language models' networks. A network reads ids (steps, batch): a row for
// each time step, and a column for each text that it reads side by side. It predicts each column's
// next id through a SoftmaxHead.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nn/carried_state.h"
#include "nn/models/step_decoder.h"
#include "nn/softmax_head.h"

namespace nine {

/// The network of a language model: an LstmLanguageModel or a TransformerLanguageModel.
class LanguageNetwork {
 public:
  virtual ~LanguageNetwork() = default;
  LanguageNetwork(const LanguageNetwork&) = delete;
  LanguageNetwork& operator=(const LanguageNetwork&) = delete;

  /// The outputs of the last layer for ids (steps, batch): (steps * batch, width), row t * batch +
  /// b.
  struct Hidden {
    Var raw;     ///< before dropout
    Var output;  ///< after dropout: the head's input
  };
  /// Runs the network over ids (steps, batch) int32, on the CPU or the network's device. `state` is
  /// the columns' state before the ids: CarriedState::on() or start_state() makes it. Replaces
  /// `state` by the state after the ids.
  virtual Hidden run(Tape& tape, const Tensor& ids, std::vector<LstmState>& state) const = 0;
  /// Returns run()'s output alone.
  Var encode(Tape& tape, const Tensor& ids, std::vector<LstmState>& state) const {
    return run(tape, ids, state).output;
  }
  /// Returns the state of `batch` columns before their first word. The state has no layers if the
  /// network carries nothing from one call of run() to the next.
  virtual CarriedState new_state(int64_t batch) const = 0;
  /// Returns the same state as Vars that are valid until the tape's reset(), for columns that begin
  /// anew with every batch.
  virtual std::vector<LstmState> start_state(Tape& tape, int64_t batch) const = 0;
  /// Returns the length of the windows, in time steps, into which run() cuts longer columns. A
  /// prediction uses only words of its window. 0: no windows; the network carries a state.
  virtual int64_t window() const = 0;
  /// Makes a decoder that reads texts word by word.
  virtual std::unique_ptr<StepDecoder> decoder() const = 0;

  /// Returns the last layer's attention over ids of one text, at most a window long, as the mean
  /// over heads. For n ids it is an n x n matrix, row by row: row t has the weights of words s <= t
  /// in the prediction after word t. Empty if the network has no attention.
  virtual std::vector<double> attention(Tape&, const std::vector<int32_t>&) const { return {}; }

  virtual const SoftmaxHead& head() const = 0;
  /// Returns model.safetensors' `__metadata__`: the format, the tie if there is one, and the
  /// settings that do not follow from the tensors' shapes.
  virtual std::map<std::string, std::string> metadata() const = 0;

  int64_t vocab() const { return vocab_; }
  /// Returns the size of the head's context vectors.
  int64_t width() const { return width_; }
  const HeadConfig& head_config() const { return head_config_; }

  /// True if regulariser() computes activation or temporal activation regularisation (AR, TAR). If
  /// the batch has padding, then pass `unpadded` to regulariser().
  bool regularises_activations() const { return activation_reg_ > 0 || temporal_reg_ > 0; }
  /// The rows without padding. Sentences computed side by side end with padding, which no
  /// regulariser counts.
  struct Unpadded {
    Tensor rows;   ///< int32: the rows of Hidden without padding; empty: all
    Tensor pairs;  ///< int32: rows r such that r and its next time step are not padding; empty: all
    /// The weight of TAR's mean in this micro-batch: (pairs of the micro-batch / pairs of the
    /// update) * (tokens of the update / TrainingSource::weighing_tokens()).
    double pair_share = 0;
  };
  /// Computes share * (AR * mean(output^2) + TAR * mean((raw_{t+1} - raw_t)^2) + the penalty on the
  /// word vectors' norms), a float64 scalar (AR, TAR: Merity et al., 2017). The micro-batch has
  /// `batch` columns and the part `share` of the update's tokens. With `unpadded` the means go over
  /// its rows and pairs, and its pair_share replaces `share` in TAR's term. Returns an empty Var if
  /// no regulariser is configured, or under NoGrad.
  Var regulariser(const Hidden& hidden, int64_t batch, double share,
                  const Unpadded* unpadded = nullptr) const;
  /// Computes the loss of predicting targets (steps, batch) int32, on either device, from `hidden`;
  /// -1: no target; see kernel_softmax. Applies label smoothing, the margin, the z-loss and the
  /// prior's regulariser as configured, but not under NoGrad. Add regulariser() for the other
  /// penalties. `factors` has a factor of each row's weight; see SoftmaxHead::loss.
  SoftmaxLoss loss(const Var& hidden, const Tensor& targets, double row_weight,
                   const Tensor& factors = {}) const {
    return head().loss(hidden, targets, row_weight, factors);
  }
  /// Returns log p of every word for each of N contexts, (N, V) float64; see
  /// SoftmaxHead::log_probabilities.
  Tensor log_probabilities(const Var& hidden) const { return head().log_probabilities(hidden); }
  /// Returns the same with a cosine margin of training undone; see SoftmaxHead.
  Tensor log_probabilities_undoing(const Var& hidden, double margin) const {
    return head().log_probabilities_undoing(hidden, margin);
  }
  /// The type and the device of the weights.
  DType dtype() const { return parameters_.dtype(); }
  Device device() const { return parameters_.device(); }

  /// These three do the same as SoftmaxHead's functions of the same names.
  void set_norms_by_frequency(std::span<const int64_t> counts, double scale) const {
    head().set_norms_by_frequency(counts, scale);
  }
  void set_bias_by_frequency(std::span<const int64_t> counts) const {
    head().set_bias_by_frequency(counts);
  }
  void set_counts(std::span<const int64_t> counts) const { head().set_counts(counts); }

 protected:
  /// Copies the members vocab, hidden, head, activation_reg and temporal_activation_reg of
  /// `config`.
  template <class Config>
  LanguageNetwork(const ParameterSet& set, const Config& config)
      : parameters_(set),
        vocab_(config.vocab),
        width_(config.hidden),
        head_config_(config.head),
        activation_reg_(config.activation_reg),
        temporal_reg_(config.temporal_activation_reg) {}

  const ParameterSet& parameters_;

 private:
  int64_t vocab_, width_;
  HeadConfig head_config_;
  double activation_reg_, temporal_reg_;
};

/// True if a language model's word vectors, with an untied head those of component 0, are its
/// embeddings. Error: head.weight of an untied head has a rank other than 3.
bool has_tied_embeddings(const Safetensors& weights, const HeadSpec& head);

/// Makes a StepDecoder for a network that carries its state. Each step() computes all slots, even
/// those that have ended, because a row's bits may depend on the number of rows.
std::unique_ptr<StepDecoder> recurrent_decoder(const LanguageNetwork& network);

}  // namespace nine
