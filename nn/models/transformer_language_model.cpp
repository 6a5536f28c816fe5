#include "nn/models/transformer_language_model.h"

#include <algorithm>
#include <cmath>

#include "autograd/recompute.h"
#include "nn/models/model_description.h"
#include "nn/models/transformer_language_decoder.h"
#include "nn/sinusoidal_positions.h"

namespace nine {
namespace {

double root(int64_t n) { return std::sqrt(static_cast<double>(n)); }

Init words_of(const TransformerLanguageModelConfig& c) {
  return Init::normal(c.style.positions == Positions::sinusoidal ? 1 / root(c.hidden) : 0.02);
}

}  // namespace

double TransformerLanguageModelConfig::embedding_factor() const {
  return embed_scale.value_or(style.positions == Positions::sinusoidal ? root(hidden) : 1);
}

std::map<std::string, std::string> TransformerLanguageModelConfig::settings() const {
  std::map<std::string, std::string> m;
  for (const NetworkKey& key : network_keys())
    if (const std::string text = key.text(*this);
        !text.empty() && (key.usual.empty() || text != key.usual))
      m[key.name] = text;
  return m;
}

TransformerLanguageModel::TransformerLanguageModel(ParameterSet& set,
                                                   const TransformerLanguageModelConfig& config)
    : LanguageNetwork(set, config),
      config_(config),
      embedding_(set, "embedding", config.vocab, config.hidden, words_of(config)) {
  if (config_.style.kv_heads == config_.heads) config_.style.kv_heads = 0;  // one way to say it
  const TransformerLanguageModelConfig& c = config_;
  require(c.heads > 0 && c.hidden % c.heads == 0, "hidden size ", c.hidden,
          " is not divisible by number of attention heads ", c.heads);
  require(c.style.positions != Positions::sinusoidal || c.hidden % 2 == 0, "hidden size ", c.hidden,
          ": sinusoidal positions come in pairs, so the width must be even");
  require(c.window > 0, "bptt length ", c.window, ": a window has at least one position");
  if (c.style.positions == Positions::learned)
    learned_positions_ = &set.add("positions.weight", {c.window, c.hidden}, Init::normal(0.01));
  const double std = c.init_std > 0 ? c.init_std : 1 / root(c.hidden);
  const LinearInit maps{.weight = Init::normal(std), .bias = Init::zeros()},
      last{.weight = Init::normal(std / root(2 * c.layers)), .bias = Init::zeros()};
  TransformerLayerConfig layer{.size = c.hidden,
                               .heads = c.heads,
                               .inner = c.ffn,
                               .dropout = c.dropout,
                               .attention_dropout = c.attention_dropout,
                               .style = c.style,
                               .init = maps,
                               .branch_init = last};
  layer.make_positions(c.window);
  for (int64_t i = 0; i < c.layers; ++i)
    layers_.emplace_back(set, concat("transformer.layers.", i), layer);
  if (c.has_final_norm())
    norm_.emplace(set, "transformer.norm", c.hidden, c.style.norm_type, c.style.layer_norm_eps);
  head_.emplace(set, "head", c.head, c.vocab, c.hidden, Init::normal(0.02),
                c.tie_embeddings ? &embedding_.weight() : nullptr);
  if (c.head.sampled) embedding_.weight().touched.emplace();
}

// Returns (steps * batch, hidden) in time order, without positions.
Var TransformerLanguageModel::embed(Tape& tape, const Tensor& ids) const {
  const Tensor on_device = tape.on_device(ids);
  const Var words = embedding_(tape, on_device);
  const Var flat = reshape(words, {words.shape().rows(), config_.hidden});
  const Var kept = dropout_words(flat, on_device, config_.dropout_words, "dropout.words");
  const double factor = config_.embedding_factor();
  return factor == 1 ? kept : scale(kept, factor);
}

// Returns the positions that are added to embeddings: (window, hidden).
Var TransformerLanguageModel::position_table(Tape& tape) const {
  if (learned_positions_ != nullptr) return tape.parameter(*learned_positions_);
  std::call_once(positions_made_, [&] {
    sinusoidal_positions_ = sinusoidal_positions(config_.window, config_.hidden, dtype(), device());
  });
  return tape.constant(sinusoidal_positions_);
}

// Adds the positions first, first + 1, ... to x (batch * steps, hidden), sequence by sequence, if
// the layers do not have them.
Var TransformerLanguageModel::with_positions(const Var& x, int64_t first, int64_t steps,
                                             int64_t batch) const {
  if (!added_to_embeddings(config_.style.positions)) return x;
  const int64_t width = steps * config_.hidden;
  const Var places = reshape(row_range(position_table(x.tape()), first, steps), {width});
  return reshape(add(reshape(x, {batch, width}), places), x.shape());
}

// Does the same for the rows of x, each at its place.
Var TransformerLanguageModel::with_positions(const Var& x, const RowPlaces& places) const {
  if (!places.each) return with_positions(x, places.all, 1, x.shape().rows());
  if (!added_to_embeddings(config_.style.positions)) return x;
  return add(x, embedding(position_table(x.tape()), places.each));
}

// Returns the final norm's output for one window, in time order.
Var TransformerLanguageModel::window_of(Tape& tape, const Tensor& ids) const {
  const int64_t steps = ids.shape()[0], batch = ids.shape()[1];
  const Var sequences = transpose_rows(embed(tape, ids), steps);
  Var x = dropout(with_positions(sequences, 0, steps, batch), config_.dropout, "dropout.embedding");
  for (const TransformerEncoderLayer& layer : layers_)
    x = computed(x, {}, config_.recompute, [&layer, batch](const Var& input, const Var&) {
      return layer(input, {.batch = batch, .causal = true});
    });
  return transpose_rows(normed(x), batch);
}

LanguageNetwork::Hidden TransformerLanguageModel::run(Tape& tape, const Tensor& ids,
                                                      std::vector<LstmState>&) const {
  const int64_t steps = ids.shape()[0];
  Var raw;
  if (steps <= config_.window) {
    raw = window_of(tape, ids);
  } else {
    std::vector<Var> windows;
    for (int64_t first = 0; first < steps; first += config_.window)
      windows.push_back(
          window_of(tape, ids.row_range(first, std::min(config_.window, steps - first))));
    raw = concat_rows(windows);
  }
  return {raw, dropout(raw, config_.dropout_output, "dropout.output")};
}

std::unique_ptr<StepDecoder> TransformerLanguageModel::decoder() const {
  return std::make_unique<TransformerLanguageDecoder>(*this);
}

std::vector<double> TransformerLanguageModel::attention(Tape& tape,
                                                        const std::vector<int32_t>& ids) const {
  const NoGrad guard(tape);
  const int64_t steps = std::ssize(ids);
  Var x = with_positions(embed(tape, Tensor::from(ids, {steps, 1})), 0, steps, 1);
  for (size_t i = 0; i + 1 < layers_.size(); ++i) x = layers_[i](x, {.causal = true});
  return layers_.back().attention_weights(x).value().to_vector();
}

std::map<std::string, std::string> TransformerLanguageModel::metadata() const {
  std::map<std::string, std::string> m = config_.settings();
  m["format"] = "pt";
  if (config_.tie_embeddings) m["tied"] = tie_text(config_.head.spec, "embedding.weight");
  return m;
}

}  // namespace nine
