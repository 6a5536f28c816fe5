#include "nn/language_model.h"

namespace nine {

LanguageModel::LanguageModel(ParameterSet& set, const LanguageModelConfig& config)
    : config_(config), parameters_(set), embedding_(set, "embedding", config.vocab, config.embed), lstm_(set, "lstm", config.embed, config.hidden, config.layers) {
  if (config.tie_embeddings) {
    require(config.embed == config.hidden, "--tie-embeddings makes the word vectors of input and output one matrix, so --embed ", config.embed,
            " must equal --hidden ", config.hidden);
    head_weight_ = &embedding_.weight();
  } else {
    head_weight_ = &set.add("head.weight", {config.vocab, config.hidden}, Init::normal(0.02));
  }
  if (config.head_bias) head_bias_ = &set.add("head.bias", {config.vocab}, Init::zeros());
}

LanguageModelConfig LanguageModelConfig::of_weights(const Safetensors& weights, const HeadSpec& head) {
  LanguageModelConfig c;
  const Shape words = weights.at("embedding.weight").shape(), recurrent = weights.at("lstm.weight_hh_l0").shape();
  require(words.rank() == 2 && recurrent.rank() == 2, "embedding.weight and lstm.weight_hh_l0 must be matrices, got ", words, " and ", recurrent);
  c.vocab = words[0];
  c.embed = words[1];
  c.hidden = recurrent[1];
  c.layers = 0;
  while (weights.tensors.contains("lstm.weight_ih_l" + std::to_string(c.layers))) ++c.layers;
  c.dropout = 0;
  c.tie_embeddings = !weights.tensors.contains("head.weight");
  c.head_bias = weights.tensors.contains("head.bias");
  c.head = head;
  return c;
}

Var LanguageModel::encode(Tape& tape, const Tensor& ids, std::vector<LstmState>& state) const {
  const Var words = embedding_(tape, tape.on_device(ids));
  const Var flat = reshape(words, {words.shape().rows(), config_.embed});
  return lstm_(dropout(flat, config_.dropout, "dropout.embedding"), state);
}

SoftmaxLoss LanguageModel::loss(const Var& hidden, const Tensor& targets, double row_weight) const {
  Tape& tape = hidden.tape();
  return kernel_softmax(config_.head, hidden, tape.parameter(*head_weight_), head_bias_ != nullptr ? tape.parameter(*head_bias_) : Var(), tape.on_device(targets), row_weight);
}

Tensor LanguageModel::log_probabilities(const Var& hidden) const {
  Tape& tape = hidden.tape();
  return nine::log_probabilities(config_.head, hidden, tape.parameter(*head_weight_), head_bias_ != nullptr ? tape.parameter(*head_bias_) : Var());
}

std::map<std::string, std::string> LanguageModel::metadata() const {
  std::map<std::string, std::string> m{{"format", "pt"}};
  if (config_.tie_embeddings) m["tied"] = "head.weight=embedding.weight";
  return m;
}

}  // namespace nine
