#include "nn/models/lstm_language_model.h"

namespace nine {

LstmLanguageModel::LstmLanguageModel(ParameterSet& set, const LstmLanguageModelConfig& config)
    : LanguageNetwork(set, config),
      config_(config),
      embedding_(set, "embedding", config.vocab, config.embed),
      lstm_(set, "lstm", config.embed, config.hidden, config.layers),
      head_(set, "head", config.head, config.vocab, config.hidden, Init::normal(0.02),
            config.tie_embeddings ? &embedding_.weight() : nullptr) {
  if (config.head.sampled) embedding_.weight().touched.emplace();
  require(
      !config.tie_embeddings || config.embed == config.hidden,
      "tied embeddings: the word vectors of input and output are one matrix, so embedding size ",
      config.embed, " must equal hidden size ", config.hidden);
}

LstmLanguageModelConfig LstmLanguageModelConfig::of_weights(const Safetensors& weights,
                                                            const HeadSpec& head) {
  LstmLanguageModelConfig c;
  const Shape words = weights.at("embedding.weight").shape(),
              recurrent = weights.at("lstm.weight_hh_l0").shape();
  require(words.rank() == 2 && recurrent.rank() == 2,
          "embedding.weight and lstm.weight_hh_l0 must be matrices, got ", words, " and ",
          recurrent);
  c.vocab = words[0];
  c.embed = words[1];
  c.hidden = recurrent[1];
  c.layers = 0;
  while (weights.tensors.contains("lstm.weight_ih_l" + std::to_string(c.layers))) ++c.layers;
  c.dropout = 0;
  c.tie_embeddings = has_tied_embeddings(weights, head);
  c.head = {.spec = head, .bias = weights.tensors.contains("head.bias")};
  return c;
}

LstmLanguageModel::Hidden LstmLanguageModel::run(Tape& tape, const Tensor& ids,
                                                 std::vector<LstmState>& state) const {
  const int64_t batch = ids.shape()[1];
  const auto drop = [&](double p) { return Dropout{p, config_.variational}; };
  const Tensor on_device = tape.on_device(ids);
  const Var words = embedding_(tape, on_device);
  const Var flat = reshape(words, {words.shape().rows(), config_.embed});
  const Var kept = dropout_words(flat, on_device, config_.dropout_words, "dropout.words");
  const Var raw = lstm_(drop(config_.dropout)(kept, batch, "dropout.embedding"), state,
                        drop(config_.dropout_hidden));
  return {raw, drop(config_.dropout_output)(raw, batch, "dropout.output")};
}

std::map<std::string, std::string> LstmLanguageModel::metadata() const {
  std::map<std::string, std::string> m{{"format", "pt"}};
  if (config_.tie_embeddings) m["tied"] = tie_text(config_.head.spec, "embedding.weight");
  return m;
}

}  // namespace nine
