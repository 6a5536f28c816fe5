#include "nn/models/hugging_face.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/error.h"
#include "core/notice.h"
#include "core/quote.h"
#include "nn/models/foreign_tensors.h"
#include "nn/models/hugging_face_config.h"
#include "nn/models/hugging_face_names.h"
#include "nn/rotary_scaling.h"

namespace nine {

namespace {

constexpr const char* kTypes = "gpt2, llama, mistral and qwen3";

// Returns the head, of a tied model the words. Error: a tied model has another head beside them.
Tensor head_of(const std::string& place, ForeignTensors& in, bool tied, const Tensor& words) {
  constexpr const char* kName = "lm_head.weight";
  if (!tied) {
    require(in.has(kName), place,
            ": 'tie_word_embeddings' is false or missing, but the model lacks ", "the tensor '",
            kName, "'");
    return in.matrix(kName);
  }
  if (in.has(kName))
    require(same_tensor(in.take(kName), words), place,
            ": 'tie_word_embeddings' is true or missing, but the tensor '", kName,
            "' is not the table of embeddings: set the key to false if the model has a head of its "
            "own");
  return words;
}

Tensor zeros(const Tensor& like) { return {Shape{1, like.shape()[1]}, like.dtype()}; }

// The tokens that begin and end a text.
struct TextEnds {
  int64_t begin = 0, end = 0;
};

// Puts the rows of </s> and <unk> before the rows of the tokens, in the tables of words and of the
// head. Excludes <unk> and the token whose row </s> has taken.
void add_special_rows(const TextEnds& ends, bool tied, const Tensor& words, const Tensor& head,
                      double excluded, std::map<std::string, Tensor>& out) {
  const int64_t tokens = words.shape()[0];
  const std::string what = "the tables of words and of the head";
  out["embedding.weight"] = stacked(what, {words.row_range(ends.begin, 1), zeros(words), words});
  if (!tied || ends.begin != ends.end)
    out["head.weight"] = stacked(what, {head.row_range(ends.end, 1), zeros(head), head});
  Tensor bias({tokens + 2}, words.dtype());
  dispatch_float(bias.dtype(), "hugging_face", [&]<class T>(T) {
    for (const int64_t row : {int64_t{1}, ends.end + 2})
      bias.data<T>()[row] = static_cast<T>(excluded);
  });
  out["head.bias"] = bias;
}

// Returns the tokens that begin and end a text. `usual` are those of a model of this type whose
// config.json does not have the keys.
TextEnds text_ends(const std::string& place, const HuggingFaceConfig& config, int64_t tokens,
                   std::optional<TextEnds> usual) {
  const auto said = [&](const char* key, std::optional<int64_t> otherwise) {
    const std::optional<int64_t> id = config.token(key, otherwise);
    require(!id || *id < tokens, place, config.has(key) ? ": '" : " lacks '", key,
            config.has(key) ? "' is " : "', which then means ", id.value_or(0),
            ", but the model has ", tokens, " tokens");
    return id;
  };
  const auto begin = said(kBeginToken, usual ? std::optional(usual->begin) : std::nullopt),
             end = said(kEndToken, usual ? std::optional(usual->end) : std::nullopt);
  require(end || begin, place, " has no '", kBeginToken, "' and no '", kEndToken,
          "': with which token does a text begin?");
  if (!begin || !end)
    notice(concat(place, " has no '", begin ? kEndToken : kBeginToken, "': the token ",
                  begin ? *begin : *end, " begins and ends a text"));
  return {begin.value_or(end.value_or(0)), end.value_or(begin.value_or(0))};
}

std::string layer_name(int64_t layer) { return concat("transformer.layers.", layer, '.'); }

// Returns Nine's name of an activation of GPT-2.
const char* activation_of(const std::string& place, const HuggingFaceConfig& config) {
  constexpr const char* kKey = "activation_function";
  constexpr std::array<TheirName, 10> kActivations{{{"gelu_new", "gelu-tanh"},
                                                    {"gelu", "gelu"},
                                                    {"relu", "relu"},
                                                    {"silu", "silu"},
                                                    {"swish", "silu"},
                                                    {"gelu_python", "gelu"},
                                                    {"gelu_pytorch_tanh", "gelu-tanh"},
                                                    {"gelu_python_tanh", "gelu-tanh"},
                                                    {"gelu_fast", "gelu-tanh"},
                                                    {"gelu_accurate", "gelu-tanh"}}};
  const std::string said = config.text(kKey, kActivations[0].first);
  std::string all;
  for (const auto& [theirs, ours] : kActivations) {
    if (said == theirs) return ours;
    all += concat(all.empty() ? "" : ", ", theirs);
  }
  fail(place, ": ", unexpected_value(kKey, Json(said), "one of " + all));
}

// Radford et al., 2019. Its linear maps are transposed (Conv1D).
Json read_gpt2(const std::string& place, const HuggingFaceConfig& config, ForeignTensors& in,
               double excluded, std::map<std::string, Tensor>& out) {
  config.only("scale_attn_weights", true);
  config.only("scale_attn_by_inverse_layer_idx", false);
  config.only("add_cross_attention", false);
  config.yes("reorder_and_upcast_attn", false);  // the same numbers in float32
  in.leave_out("transformer.");
  const int64_t layers = config.whole("n_layer");
  for (int64_t layer = 0; layer < layers; ++layer) {
    const std::string from = concat("h.", layer, '.'), to = layer_name(layer);
    for (const auto& [theirs, ours] : kGpt2Norms)
      for (const char* part : {".weight", ".bias"})
        out[concat(to, ours, part)] = in.take(concat(from, theirs, part));
    for (const auto& [theirs, weight, bias] : kGpt2Maps) {
      out[to + weight] = transposed_matrix(in.matrix(concat(from, theirs, ".weight")));
      out[to + bias] = in.take(concat(from, theirs, ".bias"));
    }
    for (const char* buffer : {"attn.bias", "attn.masked_bias"}) in.drop(from + buffer);
  }
  for (const char* part : {".weight", ".bias"})
    out[concat("transformer.norm", part)] = in.take(concat("ln_f", part));
  out["positions.weight"] = in.matrix("wpe.weight");
  const Tensor words = in.matrix("wte.weight");
  config.size("vocab_size", words.shape()[0]);
  config.size("n_embd", words.shape()[1]);
  config.size("n_positions", out["positions.weight"].shape()[0]);
  config.size("n_inner", out[layer_name(0) + "linear1.weight"].shape()[0], 4 * words.shape()[1]);
  const bool tied = config.yes("tie_word_embeddings", true);
  const Tensor head = head_of(place, in, tied, words);
  const TextEnds ends = text_ends(place, config, words.shape()[0], TextEnds{50256, 50256});
  add_special_rows(ends, tied, words, head, excluded, out);
  return {{kBeginToken, ends.begin},
          {kEndToken, ends.end},
          {"heads", config.whole("n_head")},
          {"activation", activation_of(place, config)},
          {"layer_norm_eps", config.number("layer_norm_epsilon", 1e-5)}};
}

// Returns a number that a scaling of rotary angles needs.
double needed_number(const std::string& place, const HuggingFaceConfig& keys, const char* key) {
  require(keys.find(key) != nullptr, place, " lacks the key '", key, "' of the rotary scaling");
  return keys.number(key, 0);
}

// Returns the scaling that an object rope_scaling or rope_parameters says. Error: Nine does not
// have it.
RotaryScaling scaling_of(const std::string& place, const HuggingFaceConfig& model,
                         const HuggingFaceConfig& keys) {
  const std::string other = keys.text("type", "default"),
                    type = keys.text("rope_type", other.c_str());
  keys.only("partial_rotary_factor", 1.0);
  RotaryScaling out;
  if (type == "default") {
    keys.only("factor", 1.0);
    return out;
  }
  require(type == "linear" || type == "llama3", place, ": the key 'rope_type' is ", quote(type),
          ", and Nine has \"default\", \"linear\" and \"llama3\" alone");
  out.factor = needed_number(place, keys, "factor");
  out.kind = RotaryScalingKind::linear;
  if (type == "llama3") {
    constexpr const char* kLength = "original_max_position_embeddings";
    out.kind = RotaryScalingKind::llama3;
    out.low = needed_number(place, keys, "low_freq_factor");
    out.high = needed_number(place, keys, "high_freq_factor");
    out.length = keys.find(kLength) != nullptr ? keys.whole(kLength)
                                               : model.whole("max_position_embeddings");
  }
  try {
    return RotaryScaling::from_text(to_text(out));  // checks the numbers
  } catch (const Error& e) {
    fail(place, ": ", e.what());
  }
}

// The rotary angles of a model. Error: two places contradict each other.
struct Rotation {
  double base = 10000;
  RotaryScaling scaling = {};
};
Rotation rotation_of(const std::string& place, const HuggingFaceConfig& config) {
  std::optional<double> base;
  std::optional<RotaryScaling> scaling;
  const auto take = [&](const HuggingFaceConfig& from) {
    if (from.find("rope_theta") == nullptr) return;
    const double said = from.number("rope_theta", 0);
    require(base.value_or(said) == said, place, " has two values of 'rope_theta', ", *base, " and ",
            said, ": keep the one that the model was trained with");
    base = said;
  };
  take(config);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Json* const said = config.find(key);
    if (said == nullptr) continue;
    require(said->is_object(), place, ": ", unexpected_value(key, *said, "an object"));
    const std::string inner_place = concat(place, ": '", key, "'");
    const HuggingFaceConfig inner(inner_place, *said);
    const RotaryScaling own = scaling_of(inner_place, config, inner);
    require(scaling.value_or(own) == own, place, ": 'rope_scaling' is ",
            to_text(scaling.value_or(own)), " and 'rope_parameters' is ", to_text(own),
            ": keep the one that the model was trained with");
    scaling = own;
    take(inner);
    const std::string unread = inner.unread();
    require(unread.empty(), place, ": '", key, "' has the keys ", unread,
            ", which Nine does not know of rotary angles");
  }
  return {base.value_or(10000), scaling.value_or(RotaryScaling())};
}

// Returns the kind of attention that all layers have by 'layer_types', null without the key. Error:
// there is another number of layers, or layers of several kinds.
const Json* layer_kind(const std::string& place, const HuggingFaceConfig& config, int64_t layers) {
  constexpr const char* kKey = "layer_types";
  const Json* const kinds = config.find(kKey);
  if (kinds == nullptr) return nullptr;
  require(kinds->is_array() && std::ssize(*kinds) == layers, place, ": the key '", kKey, "' is ",
          shortened(json_text(*kinds)), ", and one kind of attention for each of ", layers,
          " layers was expected");
  for (const Json& kind : *kinds) {
    require(kind == "full_attention" || kind == "sliding_attention", place, ": '", kKey, "' has ",
            shortened(json_text(kind)),
            ", and Nine has \"full_attention\" and \"sliding_attention\" alone");
    require(kind == kinds->front(), place, ": '", kKey, "' has ", json_text(kinds->front()),
            " and ", json_text(kind), ", and Nine has one kind of attention for all layers");
  }
  return &kinds->front();
}

// Returns how many positions attention sees, as transformers does; nullopt: all. Error: some layers
// see all positions and others do not; 'layer_types' and the other keys contradict each other.
std::optional<int64_t> sliding_window(const std::string& place, const HuggingFaceConfig& config,
                                      const std::string& type, int64_t layers) {
  std::optional<int64_t> window = 4096;  // of Mistral and Qwen3
  if (config.has("sliding_window")) {
    window.reset();
    if (config.find("sliding_window") != nullptr) window = config.whole("sliding_window");
  }
  const Json* const kind = layer_kind(place, config, layers);
  if (type == "llama") window.reset();  // has no use for the key
  if (type == "qwen3") {
    if (!config.yes("use_sliding_window", false)) window.reset();
    constexpr const char* kFirst = "max_window_layers";
    const Json* const said = config.find(kFirst);
    require(said == nullptr || (said->is_number_integer() && *said >= 0), place, ": ",
            unexpected_value(kFirst, said == nullptr ? Json() : *said, "a whole number"));
    const int64_t first = said == nullptr ? 28 : said->get<int64_t>();
    if (kind == nullptr && window && first > 0) {
      require(first >= layers, place, ": 'use_sliding_window' is true for the layers from '",
              kFirst, "' on, which is ", first, said == nullptr ? " without the key" : "",
              ", and Nine has one window for all ", layers, " layers");
      window.reset();
    }
    if (kind != nullptr && *kind == "full_attention") window.reset();
  }
  require(kind == nullptr || (*kind == "sliding_attention") == window.has_value(), place,
          ": 'layer_types' has ", kind == nullptr ? "" : json_text(*kind),
          ", but by the type of the model and the keys of its window attention sees ",
          window ? concat("a window of ", *window) : "all positions", ": correct one of them");
  return window;
}

// Checks that queries, keys and values have the sizes that the keys say. Returns the number of
// heads of keys. Error: the heads have another size than the width of the model divided by their
// number.
int64_t heads_of_keys(const HuggingFaceConfig& config, const std::string& type, int64_t hidden,
                      const std::vector<Tensor>& maps) {
  const int64_t heads = config.whole("num_attention_heads");
  if (hidden % heads != 0) return heads;  // an error where the network is made
  config.size("head_dim", hidden / heads, type == "qwen3" ? 128 : hidden / heads);
  // A missing key has another meaning than null.
  const int64_t usual = config.has("num_key_value_heads") ? heads
                        : type == "mistral"               ? 8
                        : type == "qwen3"                 ? 32
                                                          : heads;
  const int64_t size = hidden / heads;
  config.size("num_attention_heads", maps[0].shape()[0] / size);
  for (const size_t map : {1, 2})
    config.size("num_key_value_heads", maps[map].shape()[0] / size, usual);
  return maps[1].shape()[0] / size;
}

// Touvron et al., 2023 (Llama); Jiang et al., 2023 (Mistral); Qwen3 has norms of queries and keys.
Json read_llama(const std::string& place, const std::string& type, const HuggingFaceConfig& config,
                ForeignTensors& in, double excluded, std::map<std::string, Tensor>& out) {
  const bool qwen3 = type == "qwen3";
  const int64_t hidden = config.whole("hidden_size");
  for (const char* key : {"attention_bias", "mlp_bias"}) config.only(key, false);
  if (config.text("hidden_act", "silu") != "swish") config.only("hidden_act", "silu");
  config.only("partial_rotary_factor", 1.0);
  in.leave_out("model.");
  const int64_t layers = config.whole("num_hidden_layers");
  int64_t kv_heads = 0;
  for (int64_t layer = 0; layer < layers; ++layer) {
    const std::string from = concat("layers.", layer, '.'), to = layer_name(layer);
    for (const auto& [theirs, ours] : kLlamaNames)
      out[concat(to, ours, ".weight")] = in.take(concat(from, theirs, ".weight"));
    std::vector<Tensor> maps;
    for (const char* map : kLlamaMaps)
      maps.push_back(in.matrix(concat(from, "self_attn.", map, ".weight")));
    kv_heads = heads_of_keys(config, type, hidden, maps);
    out[to + "self_attn.in_proj_weight"] =
        stacked(concat(place, ": the tensors ", from, "self_attn.q_proj, k_proj, v_proj"), maps);
    if (qwen3)  // the other types have no norms of queries and keys
      for (const char* norm : kQwen3Norms) out[to + norm] = in.take(from + norm);
    in.drop(from + "self_attn.rotary_emb.inv_freq");
  }
  out["transformer.norm.weight"] = in.take("norm.weight");
  const Tensor words = in.matrix("embed_tokens.weight");
  config.size("vocab_size", words.shape()[0]);
  config.size("hidden_size", words.shape()[1]);
  config.size("intermediate_size", out[layer_name(0) + "linear1.weight"].shape()[0]);
  const bool tied = config.yes("tie_word_embeddings", false);
  const Tensor head = head_of(place, in, tied, words);
  const TextEnds ends = text_ends(place, config, words.shape()[0],
                                  qwen3 ? std::nullopt : std::optional(TextEnds{1, 2}));
  add_special_rows(ends, tied, words, head, excluded, out);
  const Rotation rotation = rotation_of(place, config);
  const int64_t positions = config.whole("max_position_embeddings"),
                window = sliding_window(place, config, type, layers).value_or(positions);
  if (window < positions)
    notice(concat(place, ": attention sees a window of ", window, " of ", positions,
                  " positions, and Nine reads at most one window of tokens at once"));
  return {{kBeginToken, ends.begin},
          {kEndToken, ends.end},
          {"heads", config.whole("num_attention_heads")},
          {"kv_heads", kv_heads},
          {"activation", "swiglu"},
          {"norm_type", "rms"},
          {"layer_norm_eps", config.number("rms_norm_eps", 1e-6)},
          {"positions", "rotary"},
          {"rotary_base", rotation.base},
          {"rotary_scaling", to_text(rotation.scaling)},
          {"bptt", std::min(positions, window)}};
}

}  // namespace

bool is_hugging_face(const std::map<std::string, Tensor>& tensors, const Json& config) {
  const auto type = config.find("model_type");
  return type != config.end() && type->is_string() && !tensors.contains("embedding.weight") &&
         !tensors.contains("tgt_embedding.weight");
}

Json read_hugging_face(const std::string& config_file, const Json& config,
                       std::map<std::string, Tensor>& tensors, double excluded) {
  const auto type = config["model_type"].get<std::string>();
  const bool gpt2 = type == "gpt2", llama = type == "llama" || type == "mistral" || type == "qwen3";
  const HuggingFaceConfig keys(
      config_file, config,
      gpt2 ? std::span<const OtherKeyName>(kGpt2Keys) : std::span<const OtherKeyName>());
  ForeignTensors in(config_file, tensors);
  std::map<std::string, Tensor> out;
  require(gpt2 || llama, config_file, ": the model type is ", quote(type),
          ", and Nine reads the types ", kTypes, " (docs/models.md)");
  keys.only("is_causal", true);
  keys.only("is_encoder_decoder", false);
  keys.refuse("quantization_config",
              "Nine reads weights that are not quantised: save them as such");
  keys.refuse("per_layer_config", "Nine has one kind of layers");
  Json own = gpt2 ? read_gpt2(config_file, keys, in, excluded, out)
                  : read_llama(config_file, type, keys, in, excluded, out);
  in.require_empty();
  const std::string head =
      keys.text("nine_head", "lin");  // nine.torch.patch() of the Python package
  if (const std::string unread = keys.unread(); !unread.empty())
    notice(
        concat(config_file, ": Nine does not know the keys ", unread, ", and does not read them"));
  tensors = std::move(out);
  own.update({{"arch", "transformer"}, {"norm", "pre"}, {"embed_scale", 1}, {"head", head}});
  return own;
}

}  // namespace nine
