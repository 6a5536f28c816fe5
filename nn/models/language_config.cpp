#include "nn/models/language_config.h"

#include <nlohmann/json.hpp>

#include "nn/models/model_directory.h"

namespace nine {
namespace {

constexpr const char* kLayers = "transformer.layers.";

Shape matrix_of(const Safetensors& weights, const std::string& name) {
  const Shape shape = weights.at(name).shape();
  require(shape.rank() == 2, name, " must be a matrix, got ", shape);
  return shape;
}

// The sizes that follow from the tensors, and what the configuration says of the rest.
TransformerLanguageModelConfig transformer_of(ModelFiles& files, const HeadSpec& head) {
  const Safetensors& weights = files.weights;
  const bool learned = weights.tensors.contains("positions.weight");
  if (!files.foreign) {
    files.require_keys({"heads"});
  } else if (learned) {
    files.require_keys({"heads", "norm", "activation"});
  } else {
    files.require_keys({"heads", "norm", "activation", "positions", "bptt"},
                       "; PyTorch adds no positions: of a model that adds Nine's formula say "
                       "\"positions\": \"sinusoidal\" and \"bptt\": T, the words read together; of "
                       "any other store its table as the tensor 'positions.weight'");
  }
  TransformerLanguageModelConfig c;
  const Shape words = matrix_of(weights, "embedding.weight");
  c.vocab = words[0];
  c.hidden = words[1];
  c.ffn = matrix_of(weights, concat(kLayers, 0, ".linear1.weight"))[0];
  c.layers = 0;
  while (weights.tensors.contains(concat(kLayers, c.layers, ".linear1.weight"))) ++c.layers;
  c.heads = files.count("heads");
  c.activation = files.choice("activation", c.activation);
  c.norm = files.choice("norm", c.norm);
  c.final_norm = weights.tensors.contains("transformer.norm.weight");
  c.positions = learned ? Positions::learned : Positions::sinusoidal;
  require(!files.says("positions") || files.choice("positions", c.positions) == c.positions,
          files.said_in("positions"), " names ", learned ? "sinusoidal" : "learned",
          " positions, but model.safetensors ", learned ? "has a" : "lacks the",
          " tensor positions.weight");
  const int64_t said = !learned || files.says("bptt") ? files.count("bptt") : 0;
  c.window = learned ? matrix_of(weights, "positions.weight")[0] : said;
  require(said == 0 || said == c.window, files.said_in("bptt"), ": the key 'bptt' is ", said,
          ", but the tensor positions.weight has ", c.window, " rows, the words read together");
  if (const double usual = c.embedding_factor(), factor = files.factor("embed_scale", usual);
      factor != usual)
    c.embed_scale = factor;
  files.only("layer_norm_eps", LayerNorm::kEps);
  c.dropout = 0;
  c.tie_embeddings = has_tied_embeddings(weights, head);
  c.head = {.spec = head, .bias = weights.tensors.contains("head.bias")};
  return c;
}

}  // namespace

LanguageArch arch_of(const Safetensors& weights) {
  return weights.tensors.contains(kLayers + std::string("0.self_attn.in_proj_weight"))
             ? LanguageArch::transformer
             : LanguageArch::lstm;
}

std::map<std::string, std::string> language_settings(ModelFiles& files) {
  if (arch_of(files.weights) == LanguageArch::lstm) return {};
  return transformer_of(files, head_of(files.config)).settings();
}

std::unique_ptr<LanguageNetwork> make_language_network(ParameterSet& set, ModelFiles& files) try {
  const Json& config = files.config;
  files.assume_head();
  const HeadSpec head = head_of(config);
  if (arch_of(files.weights) == LanguageArch::transformer) {
    TransformerLanguageModelConfig c = transformer_of(files, head);
    read_norms(config, c.head);
    return std::make_unique<TransformerLanguageModel>(set, c);
  }
  LstmLanguageModelConfig c = LstmLanguageModelConfig::of_weights(files.weights, head);
  read_norms(config, c.head);
  return std::make_unique<LstmLanguageModel>(set, c);
} catch (const Json::exception& e) {
  fail_for_type(files.said_in("head"), e);
} catch (const UsageError& e) {  // a name that config.json has, not the command line
  fail(files.said_in("head"), ": ", e.what());
}

}  // namespace nine
