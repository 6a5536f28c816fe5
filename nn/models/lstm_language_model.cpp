#include "nn/models/lstm_language_model.h"

#include <algorithm>
#include <cmath>

#include "core/ops.h"

namespace nine {

LstmLanguageModel::LstmLanguageModel(ParameterSet& set, const LstmLanguageModelConfig& config)
    : config_(config),
      parameters_(set),
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
  c.tie_embeddings = !weights.tensors.contains("head.weight");
  if (!c.tie_embeddings && head.untied) {
    const Shape own = weights.at("head.weight").shape();
    require(own.rank() == 3, "head.weight has shape ", own, ", but an untied head ", head.to_text(),
            " has word vectors for each component");
    c.tie_embeddings = own[0] == head.size() - 1;
  }
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

Var LstmLanguageModel::regulariser(const Hidden& hidden, int64_t batch, double share,
                                   const Unpadded* unpadded) const {
  const double ar = config_.activation_reg, tar = config_.temporal_activation_reg;
  if (!hidden.raw.tape().recording()) return {};
  const int64_t later = hidden.raw.shape().rows() - batch;
  const auto mean_square = [](const Var& x, const Tensor* rows, double weight) {
    const Var counted = rows != nullptr && *rows ? embedding(x, x.tape().on_device(*rows)) : x;
    return scale(sum_squares(counted), weight / static_cast<double>(counted.shape().elements()));
  };
  Var penalty;
  if (ar > 0)
    penalty = mean_square(hidden.output, unpadded ? &unpadded->rows : nullptr, ar * share);
  const double pair_share = unpadded ? unpadded->pair_share : share;
  if (tar > 0 && later > 0 && pair_share > 0) {
    const Var temporal =
        mean_square(sub(row_range(hidden.raw, batch, later), row_range(hidden.raw, 0, later)),
                    unpadded ? &unpadded->pairs : nullptr, tar * pair_share);
    penalty = penalty ? add(penalty, temporal) : temporal;
  }
  if (const Var norms = head_.norm_regulariser(hidden.raw.tape(), share))
    penalty = penalty ? add(penalty, norms) : norms;
  return penalty;
}

Tensor LstmLanguageModel::log_probabilities(const Var& hidden) const {
  return head_.log_probabilities(hidden);
}

std::map<std::string, std::string> LstmLanguageModel::metadata() const {
  std::map<std::string, std::string> m{{"format", "pt"}};
  if (config_.tie_embeddings) m["tied"] = head_.tie_text("embedding.weight");
  return m;
}

}  // namespace nine
