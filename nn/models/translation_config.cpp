#include "nn/models/translation_config.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <variant>

#include "core/quote.h"
#include "data/vocabulary.h"
#include "kernels/settings/head_json.h"
#include "nn/models/language_network.h"
#include "nn/models/model_description.h"
#include "nn/models/read_style.h"
#include "nn/transformer_style.h"

namespace nine {

Json translation_config(const Transformer& model) {
  const TransformerConfig& c = model.config();
  const Json head = to_json(c.head);
  Json keys{{"task", "mt"},
            {"dtype", to_text(model.dtype())},
            {"src_vocab", c.src_vocab},
            {"tgt_vocab", c.tgt_vocab},
            {"dim", c.dim},
            {"ffn", c.ffn},
            {"heads", c.heads},
            {"encoder_layers", c.encoder_layers},
            {"decoder_layers", c.decoder_layers},
            {"norm", to_text(c.style.norm)},
            {"embed_scale", model.embed_scale()},
            {"pad", Specials::kTranslation.pad},
            {"label_smoothing", head["label_smoothing"]},
            {"smoothing", head["smoothing"]},
            {"shared_vocab", c.shared_vocab},
            {"head_bias", head["head_bias"]},
            {"tie_embeddings", c.tie_embeddings}};
  for (const StyleSetting& setting : style_settings()) {
    if (keys.contains(setting.name) || setting.text(c.style) == setting.text({})) continue;
    std::visit(
        [&](auto member) {
          const auto value = c.style.*member;
          using T = std::remove_cv_t<decltype(value)>;
          if constexpr (std::is_enum_v<T> || std::is_same_v<T, RotaryScaling>) {
            keys[setting.name] = to_text(value);
          } else {
            keys[setting.name] = value;
          }
        },
        setting.member);
  }
  return keys;
}

namespace {

// Finds the positions of a model that are added to its embeddings. Returns the number of rows of
// its own table; 0 if it has no table. Renames the table of an nn.Embedding to the usual name.
int64_t rows_of_positions(ModelFiles& files, int64_t dim) {
  auto& tensors = files.weights.tensors;
  require(!tensors.contains(kPositionsName) || !tensors.contains(concat(kPositionsName, ".weight")),
          files.directory.string(), " has both tensors '", kPositionsName, "' and '",
          kPositionsName, ".weight'; leave the one out that the model does not add");
  if (auto learned = tensors.extract(concat(kPositionsName, ".weight"))) {
    learned.key() = kPositionsName;
    tensors.insert(std::move(learned));
  }
  const auto table = tensors.find(kPositionsName);
  if (table != tensors.end() && !files.foreign)
    files.only(kPositionsName, Positions::sinusoidal);  // mt_train's table
  else
    files.check_positions(table != tensors.end(), kPositionsName);
  if (table != tensors.end()) {
    const Shape& shape = table->second.shape();
    require(shape.rank() == 2 && shape[1] == dim, files.directory.string(),
            ": positions have the shape ", shape, ", the model needs (T, ", dim, ")");
    return shape[0];
  }
  if (files.says(kPositionsName)) files.only(kPositionsName, Positions::sinusoidal);
  if (!files.foreign) return 0;
  require(files.says(kPositionsName), files.directory.string(), " has no tensor 'positions', (T, ",
          dim,
          "), which is added to the embeddings: store it, or, where it is Nine's formula, say "
          "\"positions\": \"sinusoidal\" in config.json (docs/pytorch.md)");
  return 0;
}

int64_t layers_of(const Safetensors& weights, const char* side) {
  int64_t n = 0;
  while (weights.tensors.contains(concat("transformer.", side, ".layers.", n, ".linear1.weight")))
    ++n;
  return n;
}

}  // namespace

TransformerConfig transformer_config(ModelFiles& files) {
  const View target = files.embedding("mt").view();
  files.require_keys({"heads", "norm"});
  const Safetensors& weights = files.weights;
  const bool shared = !weights.tensors.contains("src_embedding.weight");
  const View source = shared ? target : weights.at("src_embedding.weight").view();
  files.check_kind("mt", "tgt_embedding.weight");
  files.check_types("tgt_embedding.weight");
  if (files.says("pad")) files.only("pad", Specials::kTranslation.pad);
  const HeadConfig head = files.head();
  const auto size = [&](const char* key, int64_t of_tensor, const char* tensor, const char* side) {
    return files.shown(key, of_tensor, concat("the tensor ", tensor, " has "), side);
  };
  const auto layers = [&](const char* key, const char* side) {
    return files.shown(key, layers_of(weights, side), "there are ",
                       concat(" tensors transformer.", side, ".layers.N.linear1.weight"));
  };
  const char *const target_name = "tgt_embedding.weight",
                    *const inner = "transformer.decoder.layers.0.linear1.weight";
  TransformerConfig c{.src_vocab = size("src_vocab", source.rows(),
                                        shared ? target_name : "src_embedding.weight", " rows"),
                      .tgt_vocab = size("tgt_vocab", target.rows(), target_name, " rows"),
                      .encoder_layers = layers("encoder_layers", "encoder"),
                      .decoder_layers = layers("decoder_layers", "decoder"),
                      .dim = size("dim", target.cols(), target_name, " columns"),
                      .ffn = size("ffn", weights.at(inner).shape()[0], inner, " rows"),
                      .heads = files.count("heads"),
                      .dropout = 0,
                      .shared_vocab = files.shown("shared_vocab", shared, "src_embedding.weight"),
                      .tie_embeddings = files.shown(
                          "tie_embeddings", has_tied_embeddings(weights, head.spec), "head.weight"),
                      .head = head,
                      .final_norms = weights.tensors.contains("transformer.encoder.norm.weight")};
  // The option of which mt_train makes dim.
  if (!files.foreign) size("hidden", c.dim, target_name, " columns");
  files.assume_head();
  TransformerStyle usual;
  if (files.says(kPositionsName))
    if (const Positions said = files.choice(kPositionsName, usual.positions);
        !added_to_embeddings(said))
      usual.positions = said;
  c.style = read_style(files, "transformer.encoder.layers.0", c.heads, usual);
  // Models of Nine have these norms if norms stand before the branches. Models of other programs
  // may have them or not.
  require(files.foreign || *c.final_norms == (c.style.norm == NormOrder::pre),
          files.said_in("norm"), ": the key 'norm' is '", c.style.norm, "', but there is ",
          *c.final_norms ? "a" : "no", " tensor transformer.encoder.norm.weight");
  if (!added_to_embeddings(usual.positions)) {
    files.check_positions(weights.tensors.contains(kPositionsName), kPositionsName);
    // mt_train gives a model at least the usual number.
    if (files.says("max_length"))
      c.max_length = files.foreign ? files.positions("max_length")
                                   : std::max(c.max_length, files.positions("max_length"));
  } else if (const int64_t rows = rows_of_positions(files, c.dim); rows > 0) {
    c.max_length = files.foreign ? size("max_length", rows, kPositionsName, " rows") : rows;
    // mt_train gives a model at least that many.
    if (const Json* said = files.find("max_length"))
      require(files.count("max_length") <= rows, files.said_in("max_length"),
              ": the key 'max_length' is ", shortened(json_text(*said)), ", but the tensor ",
              kPositionsName, " has ", rows, " rows");
  } else if (files.foreign && files.says("max_length")) {
    c.max_length = files.positions("max_length");
  }
  const double root = std::sqrt(static_cast<double>(c.dim));
  if (!files.foreign) files.only("embed_scale", root);  // mt_train has this factor alone
  c.embed_scale = files.factor("embed_scale", root);
  files.check_ties(c.ties());
  return c;
}

}  // namespace nine
