#include "nn/models/translation_config.h"

#include <nlohmann/json.hpp>

#include "data/vocabulary.h"
#include "kernels/head_json.h"
#include "nn/models/model_directory.h"

namespace nine {

Json translation_config(const Transformer& model) {
  const TransformerConfig& c = model.config();
  const Json head = to_json(c.head);
  return {{"task", "mt"},
          {"dtype", to_text(model.dtype())},
          {"src_vocab", c.src_vocab},
          {"tgt_vocab", c.tgt_vocab},
          {"dim", c.dim},
          {"ffn", c.ffn},
          {"heads", c.heads},
          {"encoder_layers", c.encoder_layers},
          {"decoder_layers", c.decoder_layers},
          {"norm", to_text(c.norm)},
          {"embed_scale", model.embed_scale()},
          {"pad", Specials::kTranslation.pad},
          {"label_smoothing", head["label_smoothing"]},
          {"smoothing", head["smoothing"]},
          {"shared_vocab", c.shared_vocab},
          {"head_bias", head["head_bias"]},
          {"tie_embeddings", c.tie_embeddings}};
}

TransformerConfig transformer_config(const Json& config, const Safetensors& weights,
                                     const std::string& file) {
  const auto key = [&](const char* name) -> const Json& {
    const auto found = config.find(name);
    require(found != config.end(), file, " lacks the key '", name,
            "' of a translation model (is this mt_train's checkpoint?)");
    return *found;
  };
  try {
    const auto number = [&](const char* name) { return key(name).get<int64_t>(); };
    TransformerConfig c{
        .src_vocab = number("src_vocab"),
        .tgt_vocab = number("tgt_vocab"),
        .encoder_layers = number("encoder_layers"),
        .decoder_layers = number("decoder_layers"),
        .dim = number("dim"),
        .ffn = number("ffn"),
        .heads = number("heads"),
        .dropout = 0,
        .norm = enum_from_text<NormOrder>(key("norm").get<std::string>()),
        .shared_vocab = key("shared_vocab").get<bool>(),
        .tie_embeddings = key("tie_embeddings").get<bool>(),
        .head = {.spec = head_of(config), .bias = weights.tensors.contains("head.bias")}};
    read_norms(config, c.head);
    if (const auto positions = weights.tensors.find(kPositionsName);
        positions != weights.tensors.end())
      c.max_length = positions->second.shape().rank() == 2 ? positions->second.shape()[0] : 0;
    return c;
  } catch (const Json::exception& e) {
    fail_for_type(file, e);
  }
}

}  // namespace nine
