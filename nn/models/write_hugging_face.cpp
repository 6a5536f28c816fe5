#include "nn/models/write_hugging_face.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/files.h"
#include "core/half.h"
#include "core/json.h"
#include "core/ops.h"
#include "nn/models/foreign_tensors.h"
#include "nn/models/hugging_face_names.h"
#include "nn/models/model_directory.h"

namespace nine {
namespace {

// Their tensors, in the order in which the file has them.
class Outgoing {
 public:
  explicit Outgoing(const PlainTransformer& model) : model_(model) {}
  void put(std::string name, Tensor tensor) {
    tensors_.emplace_back(std::move(name), std::move(tensor));
  }
  void copy(const std::string& name, const std::string& own) { put(name, at(own)); }
  const Tensor& at(const std::string& own) const { return model_.tensors.at(own); }
  bool has(const std::string& own) const { return model_.tensors.contains(own); }
  std::vector<std::pair<std::string, Tensor>> take() { return std::move(tensors_); }

 private:
  const PlainTransformer& model_;
  std::vector<std::pair<std::string, Tensor>> tensors_;
};

void put_gpt2(const TransformerLanguageModelConfig& c, Outgoing& out) {
  out.copy("transformer.wte.weight", "embedding.weight");
  out.copy("transformer.wpe.weight", "positions.weight");
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string to = concat("transformer.h.", layer, '.'),
                      from = concat("transformer.layers.", layer, '.');
    for (const auto& [theirs, ours] : kGpt2Norms)
      for (const char* part : {".weight", ".bias"})
        out.copy(concat(to, theirs, part), concat(from, ours, part));
    for (const auto& [theirs, weight, bias] : kGpt2Maps) {
      out.put(concat(to, theirs, ".weight"), transposed_matrix(out.at(from + weight)));
      out.copy(concat(to, theirs, ".bias"), from + bias);
    }
  }
  for (const char* part : {".weight", ".bias"})
    out.copy(concat("transformer.ln_f", part), concat("transformer.norm", part));
}

void put_llama(const TransformerLanguageModelConfig& c, Outgoing& out) {
  out.copy("model.embed_tokens.weight", "embedding.weight");
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string to = concat("model.layers.", layer, '.'),
                      from = concat("transformer.layers.", layer, '.');
    for (const auto& [theirs, ours] : kLlamaNames)
      out.copy(concat(to, theirs, ".weight"), concat(from, ours, ".weight"));
    const Tensor& maps = out.at(from + "self_attn.in_proj_weight");
    int64_t first = 0;
    for (const char* map : kLlamaMaps) {
      const int64_t count =
          first == 0 ? c.hidden : (maps.shape()[0] - c.hidden) / 2;  // queries, keys, values
      out.put(concat(to, "self_attn.", map, ".weight"), maps.row_range(first, count));
      first += count;
    }
    for (const char* norm : kQwen3Norms)
      if (out.has(from + norm)) out.copy(to + norm, from + norm);
  }
  out.copy("model.norm.weight", "transformer.norm.weight");
}

const char* activation_of(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return "relu";
    case Activation::gelu:
      return "gelu";
    case Activation::gelu_tanh:
      return "gelu_new";
    case Activation::silu:
    case Activation::swiglu:
    case Activation::geglu:
      break;
  }
  return "silu";
}

Json scaling_of(const RotaryScaling& scaling) {
  Json json = {{"rope_type", to_text(scaling.kind)}, {"factor", scaling.factor}};
  if (scaling.kind == RotaryScalingKind::llama3)
    json.update({{"low_freq_factor", scaling.low},
                 {"high_freq_factor", scaling.high},
                 {"original_max_position_embeddings", scaling.length}});
  return json;
}

Json config_of(const PlainTransformer& model, WeightType type) {
  const TransformerLanguageModelConfig& c = model.config;
  const TransformerStyle& style = c.style;
  Json json;
  if (model.network == PlainNetwork::gpt2) {
    json = {{"architectures", Json::array({"GPT2LMHeadModel"})},
            {"model_type", "gpt2"},
            {"n_layer", c.layers},
            {"n_head", c.heads},
            {"n_embd", c.hidden},
            {"n_inner", c.ffn},
            {"n_positions", c.window},
            {"activation_function", activation_of(style.activation)},
            {"layer_norm_epsilon", style.layer_norm_eps}};
  } else {
    const bool qwen3 = model.network == PlainNetwork::qwen3;
    json = {{"architectures", Json::array({qwen3 ? "Qwen3ForCausalLM" : "LlamaForCausalLM"})},
            {"model_type", to_text(model.network)},
            {"num_hidden_layers", c.layers},
            {"num_attention_heads", c.heads},
            {"num_key_value_heads", style.kv_heads != 0 ? style.kv_heads : c.heads},
            {"head_dim", c.hidden / c.heads},
            {"hidden_size", c.hidden},
            {"intermediate_size", c.ffn},
            {"max_position_embeddings", c.window},
            {"hidden_act", activation_of(style.activation)},
            {"rms_norm_eps", style.layer_norm_eps},
            {"rope_theta", style.rotary_base},
            {"attention_bias", false}};
    if (!qwen3) json["mlp_bias"] = false;
    if (style.rotary_scaling.kind != RotaryScalingKind::none)
      json["rope_scaling"] = scaling_of(style.rotary_scaling);
  }
  json.update({{"vocab_size", c.vocab},
               {"tie_word_embeddings", c.tie_embeddings},
               {"bos_token_id", model.begin},
               {"eos_token_id", model.end},
               {"dtype", to_text(type)}});
  return json;
}

std::string special_text(const Json& tokenizer, int64_t id) {
  for (const Json& token : tokenizer["added_tokens"])
    if (token["id"] == id) return token["content"];
  fail("the tokenizer has no special token ", id);
}

Json tokenizer_config(const PlainTransformer& model) {
  const Json tokenizer = parse_json(model.tokenizer);
  Json json = {{"tokenizer_class", "PreTrainedTokenizerFast"},
               {"bos_token", special_text(tokenizer, model.begin)},
               {"eos_token", special_text(tokenizer, model.end)},
               {"model_max_length", model.config.window},
               {"clean_up_tokenization_spaces", false}};
  const Json unknown = tokenizer["model"].value("unk_token", Json());
  if (unknown.is_string()) json["unk_token"] = unknown;
  return json;
}

}  // namespace

void write_hugging_face(const PlainTransformer& model, const std::filesystem::path& directory,
                        WeightType type) {
  require(type != WeightType::q8_0, "a folder of transformers has no weights of the type q8_0");
  Outgoing out(model);
  if (model.network == PlainNetwork::gpt2)
    put_gpt2(model.config, out);
  else
    put_llama(model.config, out);
  if (!model.config.tie_embeddings) out.copy("lm_head.weight", "head.weight");
  auto tensors = out.take();
  std::vector<NamedView> views;
  for (auto& [name, tensor] : tensors) {
    require_digits(name, tensor, type);
    if (type == WeightType::bfloat16) {
      const std::span numbers(tensor.data<float>(), static_cast<size_t>(tensor.elements()));
      require(std::ranges::all_of(
                  numbers, [](float x) { return std::isfinite(static_cast<float>(bfloat16(x))); }),
              "tensor '", name,
              "' has a number beyond 3.39e38, where bfloat16 ends: choose another type");
      const Tensor narrow(tensor.shape(), DType::bfloat16);
      ops::copy(tensor, narrow);
      tensor = narrow;
    }
    views.push_back({name, tensor});
  }
  const auto write = type == WeightType::float16 ? write_half_safetensors : write_safetensors;
  write(directory / kWeightsFile, views, {{"format", "pt"}});
  write_text(directory / "config.json", json_text(config_of(model, type), 2) + '\n');
  write_text(directory / "tokenizer.json", model.tokenizer);
  write_text(directory / "tokenizer_config.json", json_text(tokenizer_config(model), 2) + '\n');
}

}  // namespace nine
