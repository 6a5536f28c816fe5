// The paper's language model: embedding, dropout, LSTM layers and kernel softmax (Gao et al., 2019,
// section 4.1). The options of the training recipes are in docs/recipes.md.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "nn/embedding.h"
#include "nn/lstm.h"
#include "nn/models/language_network.h"

namespace nine {

/// Sizes and regularisation of an LstmLanguageModel.
struct LstmLanguageModelConfig {
  int64_t vocab = 0;
  int64_t embed = 512, hidden = 512, layers = 2;
  double dropout = 0.1;  ///< on the embeddings
  /// True: the head's word vectors are the embeddings (embed = hidden).
  bool tie_embeddings = false;
  HeadConfig head = {.bias = true};

  // For training only (docs/recipes.md):
  /// Probability that a micro-batch drops a word: its embedding is 0 wherever the word occurs.
  double dropout_words = 0;
  double dropout_hidden = 0;  ///< between LSTM layers
  double dropout_output = 0;  ///< on the last layer's output, before the head
  bool variational = false;   ///< true: all time steps of a segment share dropout masks
  double activation_reg = 0;  ///< AR: factor of the mean square of the output, after dropout
  /// TAR: factor of the mean square of h_{t+1} - h_t, before dropout.
  double temporal_activation_reg = 0;

  /// Returns the sizes that follow from the shapes of a model's tensors: layers, widths,
  /// vocabulary, ties and bias. Dropout is 0. Error: the tensors do not fit the head.
  static LstmLanguageModelConfig of_weights(const Safetensors& weights, const HeadSpec& head);
};

/// Embedding, LSTM layers and output layer, with the loss for training.
class LstmLanguageModel final : public LanguageNetwork {
 public:
  /// Declares `embedding.weight` (V, embed), `lstm.*` and the head's parameters (SoftmaxHead) in
  /// `set`. Embedding and head start as N(0, 0.02^2), the LSTM as in PyTorch. Error: tied
  /// embeddings with embed != hidden.
  LstmLanguageModel(ParameterSet& set, const LstmLanguageModelConfig& config);

  const LstmLanguageModelConfig& config() const { return config_; }
  const SoftmaxHead& head() const override { return head_; }

  /// Runs embedding, dropout and LSTM layers over ids (steps, batch); see LanguageNetwork::run().
  /// state: one LstmState for each layer, replaced as in Lstm.
  Hidden run(Tape& tape, const Tensor& ids, std::vector<LstmState>& state) const override;
  CarriedState new_state(int64_t batch) const override {
    return {config_.layers, batch, config_.hidden, dtype(), device()};
  }
  std::vector<LstmState> start_state(Tape& tape, int64_t batch) const override {
    return lstm_.zero_state(tape, batch, dtype());
  }
  int64_t window() const override { return 0; }
  std::unique_ptr<StepDecoder> decoder() const override { return recurrent_decoder(*this); }
  std::map<std::string, std::string> metadata() const override;

 private:
  LstmLanguageModelConfig config_;
  Embedding embedding_;
  Lstm lstm_;
  SoftmaxHead head_;
};

}  // namespace nine
