// The paper's language model: embedding, dropout on it, LSTM layers, kernel softmax (Gao et al., 2019, section 4.1).
#pragma once

#include <optional>
#include <vector>

#include "kernels/kernel_softmax.h"
#include "nn/layers.h"

namespace nine {

struct LanguageModelConfig {
  int64_t vocab = 0;
  int64_t embed = 512, hidden = 512, layers = 2;
  double dropout = 0.1;         ///< on the embeddings
  bool tie_embeddings = false;  ///< the head's word vectors are the embeddings (embed = hidden)
  bool head_bias = true;        ///< one bias a word
  HeadSpec head;

  /// The sizes that a model's tensors show: layers, widths, vocabulary, whether tied, whether there is a bias (dropout 0).
  static LanguageModelConfig of_weights(const Safetensors& weights, const HeadSpec& head);
};

class LanguageModel {
 public:
  /// Declares `embedding.weight` (V, embed), `lstm.*`, `head.weight` (V, hidden; not when tied) and `head.bias` (V) in
  /// `set`. Embedding and head start as N(0, 0.02), the bias at 0, the LSTM as PyTorch's.
  /// Error: tied with embed != hidden.
  LanguageModel(ParameterSet& set, const LanguageModelConfig& config);

  const LanguageModelConfig& config() const { return config_; }

  /// Hidden states of ids (steps, batch) int32, on the CPU or the model's device: (steps * batch, hidden). `state` as in Lstm.
  Var encode(Tape& tape, const Tensor& ids, std::vector<LstmState>& state) const;
  /// Loss of predicting targets (steps, batch) int32, -1 = nothing, on either device, from those states; see kernel_softmax.
  SoftmaxLoss loss(const Var& hidden, const Tensor& targets, double row_weight) const;
  /// log p of every word after each of those states, (N, V) float64, for a few states; see log_probabilities.
  Tensor log_probabilities(const Var& hidden) const;
  CarriedState new_state(int64_t batch) const { return {config_.layers, batch, config_.hidden, parameters_.dtype(), parameters_.values().device()}; }
  /// Type of the weights.
  DType dtype() const { return parameters_.dtype(); }

  /// What model.safetensors' `__metadata__` says: the tie, where there is one.
  std::map<std::string, std::string> metadata() const;

 private:
  LanguageModelConfig config_;
  const ParameterSet& parameters_;
  Embedding embedding_;
  Lstm lstm_;
  Parameter* head_weight_;
  Parameter* head_bias_ = nullptr;
};

}  // namespace nine
