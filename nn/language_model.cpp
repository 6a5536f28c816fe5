#include "nn/language_model.h"

#include <algorithm>
#include <cmath>

#include "core/ops.h"

namespace nine {

LanguageModel::LanguageModel(ParameterSet& set, const LanguageModelConfig& config)
    : config_(config),
      parameters_(set),
      embedding_(set, "embedding", config.vocab, config.embed),
      lstm_(set, "lstm", config.embed, config.hidden, config.layers) {
  const int64_t size = config.head.size(), width = config.hidden;
  const std::string wrong = config.head.check(width);
  require(wrong.empty(), "--head ", config.head.to_text(), ": ", wrong);
  if (config.tie_embeddings) {
    require(config.embed == width, "--tie-embeddings makes the word vectors of input and output one matrix, so --embed ", config.embed,
            " must equal --hidden ", width);
    head_words_.push_back(&embedding_.weight());
  }
  const int64_t own = (config.head.untied ? size : 1) - (config.tie_embeddings ? 1 : 0);
  const Shape shape = config.head.untied ? Shape{own, config.vocab, width} : Shape{config.vocab, width};
  if (own > 0) head_words_.push_back(&set.add("head.weight", shape, Init::normal(0.02)));
  if (config.head_bias) head_bias_ = &set.add("head.bias", {config.vocab}, Init::zeros());
  const Init linear = Init::uniform(1 / std::sqrt(static_cast<double>(width)));
  if (config.head.mixture) head_prior_ = &set.add("head.prior.weight", {size, width}, linear);
  if (config.head.contexts) head_latent_ = &set.add("head.latent.weight", {size * width, width}, linear);
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
  if (!c.tie_embeddings && head.untied) {
    const Shape own = weights.at("head.weight").shape();
    require(own.rank() == 3, "head.weight has shape ", own, ", but an untied head ", head.to_text(), " has word vectors for each component");
    c.tie_embeddings = own[0] == head.size() - 1;
  }
  c.head_bias = weights.tensors.contains("head.bias");
  c.head = head;
  return c;
}

LanguageModel::Hidden LanguageModel::run(Tape& tape, const Tensor& ids, std::vector<LstmState>& state) const {
  const int64_t batch = ids.shape()[1];
  const auto drop = [&](double p) { return Dropout{p, config_.variational}; };
  const Tensor there = tape.on_device(ids);
  const Var words = embedding_(tape, there);
  const Var flat = reshape(words, {words.shape().rows(), config_.embed});
  const Var kept = dropout_words(flat, there, config_.dropout_words, "dropout.words");
  const Var raw = lstm_(drop(config_.dropout)(kept, batch, "dropout.embedding"), state, drop(config_.dropout_hidden));
  return {raw, drop(config_.dropout_output)(raw, batch, "dropout.output")};
}

Var LanguageModel::regulariser(const Hidden& hidden, int64_t batch, double share) const {
  const double ar = config_.activation_reg, tar = config_.temporal_activation_reg;
  if (!hidden.raw.tape().recording()) return {};
  const int64_t later = hidden.raw.shape().rows() - batch;
  const auto mean_square = [&](const Var& x, double weight) {
    return scale(sum_squares(x), weight * share / static_cast<double>(x.shape().elements()));
  };
  Var penalty;
  if (ar > 0) penalty = mean_square(hidden.output, ar);
  if (tar > 0 && later > 0) {
    const Var slowness = mean_square(sub(row_range(hidden.raw, batch, later), row_range(hidden.raw, 0, later)), tar);
    penalty = penalty ? add(penalty, slowness) : slowness;
  }
  if (config_.norm_reg.strength > 0) {
    const Var norms = scale(norm_penalty(head_weights(hidden.raw.tape()).w, config_.norm_reg), share);
    penalty = penalty ? add(penalty, norms) : norms;
  }
  return penalty;
}

void LanguageModel::set_norms_by_frequency(std::span<const int64_t> counts, double scale) const {
  require(static_cast<int64_t>(counts.size()) == config_.vocab, "[init-norm] ", counts.size(), " counts for ", config_.vocab, " words");
  for (const Parameter* words : head_words_) {
    const Tensor& value = words->value;
    const Tensor host(value.shape(), DType::float64), rounded(value.shape(), value.dtype());
    ops::copy(value, rounded);  // from whatever device
    ops::copy(rounded, host);
    const int64_t size = host.shape().cols();
    for (int64_t v = 0; v < host.shape().rows(); ++v) {
      double* row = host.data<double>() + v * size;
      double square = 0;
      for (int64_t k = 0; k < size; ++k) square += row[k] * row[k];
      if (square == 0) continue;
      const int64_t count = counts[static_cast<size_t>(v % config_.vocab)];
      const double factor = scale * std::log(static_cast<double>(std::max<int64_t>(2, count))) / std::sqrt(square);
      for (int64_t k = 0; k < size; ++k) row[k] *= factor;
    }
    ops::copy(host, rounded);
    ops::copy(rounded, value);
  }
}

void LanguageModel::set_bias_by_frequency(std::span<const int64_t> counts) const {
  require(head_bias_ != nullptr, "[init-bias] the head has no bias");
  require(static_cast<int64_t>(counts.size()) == config_.vocab, "[init-bias] ", counts.size(), " counts for ", config_.vocab, " words");
  const Tensor host({config_.vocab}, DType::float64), rounded({config_.vocab}, head_bias_->value.dtype());
  double all = 0;
  for (const int64_t c : counts) all += static_cast<double>(std::max<int64_t>(1, c));
  for (size_t v = 0; v < counts.size(); ++v) host.data<double>()[v] = std::log(static_cast<double>(std::max<int64_t>(1, counts[v])) / all);
  ops::copy(host, rounded);
  ops::copy(rounded, head_bias_->value);
}

const HeadWeights& LanguageModel::head_weights(Tape& tape) const {
  const auto on = [&](Parameter* p) { return p != nullptr ? tape.parameter(*p) : Var(); };
  weights_.w.clear();
  for (Parameter* p : head_words_) weights_.w.push_back(tape.parameter(*p));
  weights_.bias = on(head_bias_);
  weights_.prior = on(head_prior_);
  weights_.latent = on(head_latent_);
  return weights_;
}

SoftmaxLoss LanguageModel::loss(const Var& hidden, const Tensor& targets, double row_weight) const {
  Tape& tape = hidden.tape();
  HeadLoss options{.memory = config_.head_memory};
  if (tape.recording()) {
    options.smoothing = config_.smoothing;
    options.prior = config_.prior_reg;
  }
  return kernel_softmax(config_.head, hidden, head_weights(tape), tape.on_device(targets), row_weight, options);
}

Tensor LanguageModel::log_probabilities(const Var& hidden) const {
  return nine::log_probabilities(config_.head, hidden, head_weights(hidden.tape()));
}

std::map<std::string, std::string> LanguageModel::metadata() const {
  std::map<std::string, std::string> m{{"format", "pt"}};
  if (config_.tie_embeddings) m["tied"] = config_.head.untied ? "the first of head.weight=embedding.weight" : "head.weight=embedding.weight";
  return m;
}

}  // namespace nine
