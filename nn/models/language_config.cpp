#include "nn/models/language_config.h"

#include <nlohmann/json.hpp>

#include "nn/models/model_directory.h"

namespace nine {
namespace {

constexpr const char* kLayers = "transformer.layers.";

// A number of a configuration, which metadata has as a text.
int64_t number_of(const Json& config, const char* key, const std::string& file) {
  const auto found = config.find(key);
  require(found != config.end(), file, " lacks the key '", key,
          "', which a Transformer language model needs");
  if (found->is_number_integer()) return found->get<int64_t>();
  const std::string text = found->is_string() ? found->get<std::string>() : std::string();
  require(!text.empty() && text.size() < 10 &&
              text.find_first_not_of("0123456789") == std::string::npos,
          file, ": the key '", key, "' is no whole number");
  return std::stoll(text);
}

template <class E>
E choice_of(const Json& config, const char* key, E otherwise, const std::string& file) {
  const auto found = config.find(key);
  if (found == config.end()) return otherwise;
  require(found->is_string(), file, ": the key '", key, "' is no text");
  return enum_from_text<E>(found->get<std::string>());
}

Shape matrix_of(const Safetensors& weights, const std::string& name) {
  const Shape shape = weights.at(name).shape();
  require(shape.rank() == 2, name, " must be a matrix, got ", shape);
  return shape;
}

// The sizes that follow from the tensors, and what the configuration says of the rest.
TransformerLanguageModelConfig transformer_of(const Safetensors& weights, const HeadSpec& head,
                                              const Json& config, const std::string& file) {
  TransformerLanguageModelConfig c;
  const Shape words = matrix_of(weights, "embedding.weight");
  c.vocab = words[0];
  c.hidden = words[1];
  c.ffn = matrix_of(weights, concat(kLayers, 0, ".linear1.weight"))[0];
  c.layers = 0;
  while (weights.tensors.contains(concat(kLayers, c.layers, ".linear1.weight"))) ++c.layers;
  c.heads = number_of(config, "heads", file);
  c.activation = choice_of(config, "activation", c.activation, file);
  const bool learned = weights.tensors.contains("positions.weight");
  c.positions = learned ? Positions::learned : Positions::sinusoidal;
  require(choice_of(config, "positions", c.positions, file) == c.positions, file, " names ",
          learned ? "sinusoidal" : "learned", " positions, but model.safetensors ",
          learned ? "has a" : "lacks the", " tensor positions.weight");
  c.window = learned ? matrix_of(weights, "positions.weight")[0] : number_of(config, "bptt", file);
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

std::unique_ptr<LanguageNetwork> make_language_network(ParameterSet& set, const Json& config,
                                                       const Safetensors& weights,
                                                       const std::string& file) try {
  const HeadSpec head = head_of(config);
  if (arch_of(weights) == LanguageArch::transformer) {
    TransformerLanguageModelConfig c = transformer_of(weights, head, config, file);
    read_norms(config, c.head);
    return std::make_unique<TransformerLanguageModel>(set, c);
  }
  LstmLanguageModelConfig c = LstmLanguageModelConfig::of_weights(weights, head);
  read_norms(config, c.head);
  return std::make_unique<LstmLanguageModel>(set, c);
} catch (const Json::exception& e) {
  fail_for_type(file, e);
}

}  // namespace nine
