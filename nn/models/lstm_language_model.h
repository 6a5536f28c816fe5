// The paper's language model: embedding, dropout, LSTM layers, kernel softmax (Gao et al., 2019,
// section 4.1), with the training recipes of docs/recipes.md as options.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "nn/carried_state.h"
#include "nn/embedding.h"
#include "nn/lstm.h"
#include "nn/softmax_head.h"

namespace nine {

/// Sizes and regularisation of an LstmLanguageModel.
struct LstmLanguageModelConfig {
  int64_t vocab = 0;
  int64_t embed = 512, hidden = 512, layers = 2;
  double dropout = 0.1;         ///< on the embeddings
  bool tie_embeddings = false;  ///< the head's word vectors are the embeddings (embed = hidden)
  HeadConfig head = {.bias = true};

  // In training only (docs/recipes.md):
  double dropout_words = 0;   ///< whole words of the vocabulary, on the embeddings
  double dropout_hidden = 0;  ///< between LSTM layers
  double dropout_output = 0;  ///< on the last layer's output, before the head
  bool variational = false;   ///< dropout's masks are the same for all time steps of a segment
  double activation_reg = 0;  ///< AR: times the mean square of the output, after dropout
  /// TAR: times the mean square of h_{t+1} - h_t, before dropout.
  double temporal_activation_reg = 0;

  /// The sizes that follow from the shapes of a model's tensors: layers, widths, vocabulary,
  /// whether tied, whether there is a bias. Dropout is 0. Error: the tensors do not fit that head.
  static LstmLanguageModelConfig of_weights(const Safetensors& weights, const HeadSpec& head);
};

/// Embedding, LSTM layers and output layer, with the loss for training.
class LstmLanguageModel {
 public:
  /// Declares `embedding.weight` (V, embed), `lstm.*` and the head's parameters (SoftmaxHead) in
  /// `set`. Embedding and head start as N(0, 0.02), the LSTM as PyTorch's. Error: tied with embed
  /// != hidden.
  LstmLanguageModel(ParameterSet& set, const LstmLanguageModelConfig& config);

  const LstmLanguageModelConfig& config() const { return config_; }
  const SoftmaxHead& head() const { return head_; }

  /// The outputs of the last LSTM layer for ids (steps, batch): (steps * batch, hidden).
  struct Hidden {
    Var raw;     ///< before dropout
    Var output;  ///< after dropout: the head's input
  };
  /// Runs the model over ids (steps, batch) int32, on the CPU or the model's device. `state` as in
  /// Lstm.
  Hidden run(Tape& tape, const Tensor& ids, std::vector<LstmState>& state) const;
  /// run()'s output alone.
  Var encode(Tape& tape, const Tensor& ids, std::vector<LstmState>& state) const {
    return run(tape, ids, state).output;
  }
  /// Whether regulariser() has AR or TAR to compute, which need to know padding.
  bool regularises_activations() const {
    return config_.activation_reg > 0 || config_.temporal_activation_reg > 0;
  }
  /// Sentences side by side end with padding, which no regulariser counts.
  struct Unpadded {
    Tensor rows;   ///< int32: the rows of Hidden that are no padding; empty: all
    Tensor pairs;  ///< int32: rows r where r and its next time step are no padding; empty: all
    double pair_share = 0;  ///< of this micro-batch in the update's such pairs
  };
  /// Activation and temporal activation regularisation (Merity et al., 2017) of a micro-batch whose
  /// columns are `batch` and whose share in the update's tokens is `share`: share * (AR *
  /// mean(output^2) + TAR * mean((raw_{t+1} - raw_t)^2)), a float64 scalar. With `unpadded` the
  /// means go over its rows and pairs, and TAR's has its pair_share. Share times the penalty on the
  /// word vectors' norms is added. An empty Var where no regulariser is configured, or under
  /// NoGrad.
  Var regulariser(const Hidden& hidden, int64_t batch, double share,
                  const Unpadded* unpadded = nullptr) const;
  /// Loss of predicting targets (steps, batch) int32, -1: no target, on either device, from those
  /// states; see kernel_softmax. Smoothed and regularised as configured, but not under NoGrad.
  SoftmaxLoss loss(const Var& hidden, const Tensor& targets, double row_weight) const {
    return head_.loss(hidden, targets, row_weight);
  }
  /// log p of every word after each of those states, (N, V) float64, for a few states; see
  /// log_probabilities.
  Tensor log_probabilities(const Var& hidden) const;
  /// The same with a cosine margin of training undone; see SoftmaxHead.
  Tensor log_probabilities_undoing(const Var& hidden, double margin) const {
    return head_.log_probabilities_undoing(hidden, margin);
  }
  CarriedState new_state(int64_t batch) const {
    return {config_.layers, batch, config_.hidden, parameters_.dtype(), parameters_.device()};
  }
  /// Type of the weights.
  DType dtype() const { return parameters_.dtype(); }

  /// As in SoftmaxHead.
  void set_norms_by_frequency(std::span<const int64_t> counts, double scale) const {
    head_.set_norms_by_frequency(counts, scale);
  }
  void set_bias_by_frequency(std::span<const int64_t> counts) const {
    head_.set_bias_by_frequency(counts);
  }
  void set_counts(std::span<const int64_t> counts) const { head_.set_counts(counts); }

  /// model.safetensors' `__metadata__`: the format, and the tie where there is one.
  std::map<std::string, std::string> metadata() const;

 private:
  LstmLanguageModelConfig config_;
  const ParameterSet& parameters_;
  Embedding embedding_;
  Lstm lstm_;
  SoftmaxHead head_;
};

}  // namespace nine
