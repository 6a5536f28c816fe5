#include "nn/models/transformer.h"

#include <cmath>

#include "autograd/recompute.h"
#include "core/ops.h"
#include "nn/sinusoidal_positions.h"

namespace nine {
namespace {

Tensor lengths_of(const Tensor& ids, int32_t pad) {
  const int64_t rows = ids.shape()[0], cols = ids.shape()[1];
  Tensor lengths({rows}, DType::int32);
  for (int64_t r = 0; r < rows; ++r) {
    const int32_t* row = ids.data<int32_t>() + r * cols;
    int64_t n = cols;
    while (n > 0 && row[n - 1] == pad) --n;
    lengths.data<int32_t>()[r] = static_cast<int32_t>(n);
  }
  return lengths;
}

}  // namespace

TranslationBatch TranslationBatch::of_padded(const Tensor& src, const Tensor& tgt_in,
                                             const Tensor& tgt_out, int32_t pad) {
  require(src.shape().rank() == 2 && tgt_in.shape().rank() == 2 &&
              tgt_in.shape() == tgt_out.shape() && src.shape()[0] == tgt_in.shape()[0],
          "[TranslationBatch] ids are (B, S), (B, T) and (B, T), not ", src.shape(), ", ",
          tgt_in.shape(), " and ", tgt_out.shape());
  TranslationBatch batch{.src = src,
                         .tgt_in = tgt_in,
                         .tgt_out = tgt_out.clone(),
                         .src_lengths = lengths_of(src, pad),
                         .tgt_lengths = lengths_of(tgt_in, pad)};
  int32_t* target = batch.tgt_out.data<int32_t>();
  for (int64_t i = 0; i < tgt_out.elements(); ++i) {
    if (target[i] == pad) target[i] = -1;
    batch.tokens += target[i] >= 0;
  }
  return batch;
}

Transformer::Transformer(ParameterSet& set, const TransformerConfig& config)
    : config_(config), parameters_(set) {
  if (config_.style.kv_heads == config_.heads) config_.style.kv_heads = 0;  // one way to say it
  const TransformerConfig& c = config_;
  require(c.style.positions != Positions::sinusoidal || c.dim % 2 == 0, "hidden size ", c.dim,
          ": sinusoidal positions come in pairs, so the width must be even");
  require(c.heads > 0 && c.dim % c.heads == 0, "hidden size ", c.dim,
          " is not divisible by number of attention heads ", c.heads);
  require(c.style.positions != Positions::learned, "a translation model has no learned positions");
  require(!c.shared_vocab || c.src_vocab == c.tgt_vocab, "a shared vocabulary cannot have ",
          c.src_vocab, " words in the source and ", c.tgt_vocab, " in the target");
  const Init words = Init::normal(1 / std::sqrt(static_cast<double>(c.dim)));
  tgt_embedding_ = &set.add("tgt_embedding.weight", {c.tgt_vocab, c.dim}, words);
  src_embedding_ = c.shared_vocab ? tgt_embedding_
                                  : &set.add("src_embedding.weight", {c.src_vocab, c.dim}, words);
  TransformerLayerConfig layer{.size = c.dim,
                               .heads = c.heads,
                               .inner = c.ffn,
                               .dropout = c.dropout,
                               .attention_dropout = c.attention_dropout,
                               .style = c.style,
                               .init = LinearInit::xavier()};
  layer.make_positions(c.max_length);
  const std::string encoder = "transformer.encoder", decoder = "transformer.decoder";
  for (int64_t i = 0; i < c.encoder_layers; ++i)
    encoder_.emplace_back(set, concat(encoder, ".layers.", i), layer);
  if (c.has_final_norms())
    encoder_norm_.emplace(set, encoder + ".norm", c.dim, c.style.norm_type, c.style.layer_norm_eps);
  for (int64_t i = 0; i < c.decoder_layers; ++i)
    decoder_.emplace_back(set, concat(decoder, ".layers.", i), layer);
  if (c.has_final_norms())
    decoder_norm_.emplace(set, decoder + ".norm", c.dim, c.style.norm_type, c.style.layer_norm_eps);
  head_.emplace(set, "head", c.head, c.tgt_vocab, c.dim, words,
                c.tie_embeddings ? tgt_embedding_ : nullptr);
  if (c.head.sampled)
    for (Parameter* table : {src_embedding_, tgt_embedding_}) table->touched.emplace();
  set.ignore_on_load(kPositionsName);
}

std::string TransformerConfig::ties() const {
  std::string tied;
  if (tie_embeddings) tied = tie_text(head.spec, "tgt_embedding.weight");
  if (shared_vocab)
    tied += std::string(tied.empty() ? "" : ",") + "src_embedding.weight=tgt_embedding.weight";
  return tied;
}

double Transformer::embed_scale() const {
  return config_.embed_scale.value_or(std::sqrt(static_cast<double>(config_.dim)));
}

void Transformer::use_positions(const Tensor& table) {
  const Shape needed{config_.max_length, config_.dim};
  require(table.shape() == needed, "positions have the shape ", table.shape(), ", the model needs ",
          needed);
  std::call_once(positions_made_, [&] {
    const Tensor converted(needed, dtype());
    ops::copy(table, converted);
    positions_ = Tensor(needed, dtype(), parameters_.device());
    ops::copy(converted, positions_);
  });
}

const Tensor& Transformer::positions() const {
  if (!added_to_embeddings(config_.style.positions)) return positions_;
  std::call_once(positions_made_, [&] {
    positions_ =
        sinusoidal_positions(config_.max_length, config_.dim, dtype(), parameters_.device());
  });
  return positions_;
}

Var Transformer::embed(Tape& tape, Parameter& table, const Tensor& ids, std::string_view stream,
                       int64_t first) const {
  require(ids.shape().rank() == 2 && first + ids.shape()[1] <= config_.max_length,
          "a batch of ids has shape ", ids.shape(),
          ", but must be (sentences, positions) with at most ", config_.max_length - first,
          " positions");
  const Var words = tape.parameter(table);
  const Tensor& added = positions();
  Var x;
  if (added) {
    x = embedding_with_positions(words, tape.on_device(ids), embed_scale(),
                                 added.row_range(first, config_.max_length - first));
  } else {
    x = scale(embedding(words, tape.on_device(ids)), embed_scale());
    x = reshape(x, {ids.elements(), config_.dim});
  }
  return dropout(x, config_.dropout, stream);
}

void Transformer::pack(PackedWeights& packed) const {
  for (const TransformerEncoderLayer& layer : encoder_) layer.pack(packed);
  for (const TransformerDecoderLayer& layer : decoder_) layer.pack(packed);
}

Var Transformer::encode(Tape& tape, const Tensor& src, const Tensor& src_lengths) const {
  const int64_t batch = src.shape()[0];
  const Var lengths = tape.constant(tape.on_device(src_lengths));
  Var x = embed(tape, *src_embedding_, src, "dropout.src_embedding");
  for (const TransformerEncoderLayer& layer : encoder_)
    x = computed(x, {}, config_.recompute, [&layer, batch, lengths](const Var& input, const Var&) {
      return layer(input, {.batch = batch, .lengths = lengths.value()});
    });
  return encoder_norm_ ? (*encoder_norm_)(x) : x;
}

Var Transformer::decode(const Var& memory, const Tensor& src_lengths, const Tensor& tgt_in,
                        const Tensor& tgt_lengths) const {
  Tape& tape = memory.tape();
  const int64_t batch = tgt_in.shape()[0];
  const Var lengths = tape.constant(tape.on_device(tgt_lengths)),
            memory_lengths = tape.constant(tape.on_device(src_lengths));
  Var x = embed(tape, *tgt_embedding_, tgt_in, "dropout.tgt_embedding");
  for (const TransformerDecoderLayer& layer : decoder_)
    x = computed(x, memory, config_.recompute,
                 [&layer, batch, lengths, memory_lengths](const Var& input, const Var& encoded) {
                   return layer(input, encoded,
                                {.batch = batch, .lengths = lengths.value(), .causal = true},
                                {.batch = batch, .lengths = memory_lengths.value()});
                 });
  return decoder_norm_ ? (*decoder_norm_)(x) : x;
}

SoftmaxLoss Transformer::loss(Tape& tape, const TranslationBatch& batch, double row_weight) const {
  const Var memory = encode(tape, batch.src, batch.src_lengths);
  return loss(decode(memory, batch.src_lengths, batch.tgt_in, batch.tgt_lengths), batch.tgt_out,
              row_weight, batch.factors);
}

std::map<std::string, std::string> Transformer::metadata() const {
  std::map<std::string, std::string> m{{"format", "pt"}, {"heads", concat(config_.heads)}};
  for (const StyleSetting& setting : style_settings()) {
    const std::string text = setting.text(config_.style);
    // The tensor `positions` shows positions that are added to embeddings.
    const bool shown = added_to_embeddings(config_.style.positions) &&
                       std::string_view(setting.name) == kPositionsName,
               idle = setting.has_effect != nullptr && !setting.has_effect(config_.style);
    if (!text.empty() && !shown && !idle) m[setting.name] = text;
  }
  if (const std::string tied = config_.ties(); !tied.empty()) m["tied"] = tied;
  return m;
}

}  // namespace nine
