#include "nn/models/hugging_face.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/error.h"
#include "core/quote.h"
#include "nn/models/hugging_face_names.h"

namespace nine {

Tensor transposed_matrix(const Tensor& matrix) {
  const int64_t rows = matrix.shape()[0], cols = matrix.shape()[1];
  Tensor out({cols, rows}, matrix.dtype());
  dispatch_float(matrix.dtype(), "hugging_face", [&]<class T>(T) {
    const T* const from = matrix.data<T>();
    T* const to = out.data<T>();
    constexpr int64_t kBlock = 32;  // both sides stay in the cache
    for (int64_t r0 = 0; r0 < rows; r0 += kBlock)
      for (int64_t c = 0; c < cols; ++c)
        for (int64_t r = r0; r < std::min(rows, r0 + kBlock); ++r)
          to[c * rows + r] = from[r * cols + c];
  });
  return out;
}

namespace {

constexpr const char* kTypes = "gpt2, llama, mistral and qwen3";

// True if both have the same type, shape and numbers.
bool equal(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return dispatch_float(a.dtype(), "hugging_face", [&]<class T>(T) {
    return std::equal(a.data<T>(), a.data<T>() + a.elements(), b.data<T>());
  });
}

// The tensors of a model by the names of transformers. Each is taken out once.
class Tensors {
 public:
  Tensors(const std::string& place, std::map<std::string, Tensor>& tensors)
      : place_(place), tensors_(tensors) {}

  // Removes the name of the model's part, which all tensors but the head's have, if they have it.
  void leave_out(const std::string& part) {
    std::map<std::string, Tensor> rest;
    for (auto& [name, tensor] : tensors_)
      rest.emplace(name.starts_with(part) ? name.substr(part.size()) : name, std::move(tensor));
    tensors_ = std::move(rest);
  }
  bool has(const std::string& name) const { return tensors_.contains(name); }
  Tensor take(const std::string& name) {
    const auto found = tensors_.find(name);
    require(found != tensors_.end(), place_, ": the model lacks the tensor '", name, "'");
    Tensor out = std::move(found->second);
    tensors_.erase(found);
    return out;
  }
  Tensor matrix(const std::string& name) {
    Tensor out = take(name);
    require(out.shape().rank() == 2, place_, ": the tensor '", name, "' must be a matrix, got ",
            out.shape());
    return out;
  }
  void drop(const std::string& name) { tensors_.erase(name); }
  // Returns the head, of a tied model the words. Error: a tied model has another head beside them.
  Tensor head(bool tied, const Tensor& words) {
    constexpr const char* kName = "lm_head.weight";
    if (!tied) return matrix(kName);
    if (has(kName))
      require(equal(take(kName), words), place_, ": 'tie_word_embeddings' is true or missing, but ",
              "the tensor '", kName,
              "' is not the table of embeddings: set the key to false if the ",
              "model has a head of its own");
    return words;
  }
  // Error: a tensor is left.
  void require_empty() const {
    require(tensors_.empty(), place_, ": Nine does not read the tensor '",
            tensors_.empty() ? "" : tensors_.begin()->first, "', one of ", tensors_.size(),
            " that such a model does not have here");
  }

 private:
  const std::string& place_;
  std::map<std::string, Tensor>& tensors_;
};

// The keys of config.json.
class Config {
 public:
  Config(const std::string& place, const Json& keys) : place_(place), keys_(keys) {}

  // Returns a value; null if the key is missing or null.
  const Json* find(const char* key) const {
    const auto found = keys_.find(key);
    return found == keys_.end() || found->is_null() ? nullptr : &*found;
  }
  bool has(const char* key) const { return keys_.contains(key); }
  // Error: the key is there, and is not the size that the tensors have.
  void size(const char* key, int64_t of_tensors) const {
    require(find(key) == nullptr || whole(key) == of_tensors, place_, ": the key '", key, "' is ",
            find(key) == nullptr ? "" : json_text(*find(key)), ", and the tensors have ",
            of_tensors);
  }
  int64_t whole(const char* key) const {
    const Json* const value = find(key);
    require(value != nullptr, place_, " lacks the key '", key, "'");
    require(value->is_number_integer() && *value > 0 && *value < int64_t{1} << 40, place_, ": ",
            unexpected_value(key, *value, "a whole number from 1 on"));
    return value->get<int64_t>();
  }
  double number(const char* key, double usual) const {
    const Json* const value = find(key);
    require(value == nullptr || value->is_number(), place_, ": ",
            unexpected_value(key, value == nullptr ? Json() : *value, "a number"));
    return value == nullptr ? usual : value->get<double>();
  }
  bool yes(const char* key, bool usual) const {
    const Json* const value = find(key);
    require(value == nullptr || value->is_boolean(), place_, ": ",
            unexpected_value(key, value == nullptr ? Json() : *value, "true or false"));
    return value == nullptr ? usual : value->get<bool>();
  }
  std::string text(const char* key, const char* usual) const {
    const Json* const value = find(key);
    require(value == nullptr || value->is_string(), place_, ": ",
            unexpected_value(key, value == nullptr ? Json() : *value, "a text"));
    return value == nullptr ? usual : value->get<std::string>();
  }
  // Error: the key has another value than `only`, which the layers of Nine have.
  void only(const char* key, const Json& only) const {
    const Json* const value = find(key);
    require(value == nullptr || *value == only, place_, ": the key '", key, "' is ",
            value == nullptr ? "" : shortened(json_text(*value)), ", and Nine has ",
            json_text(only), " alone");
  }
  // Returns the id of a token, the first of a list; nullopt if the key is missing.
  std::optional<int64_t> token(const char* key) const {
    const Json* value = find(key);
    if (value != nullptr && value->is_array() && !value->empty()) value = &value->front();
    if (value == nullptr) return std::nullopt;
    require(value->is_number_integer() && *value >= 0 && *value < int64_t{1} << 31, place_, ": ",
            unexpected_value(key, *value, "the number of a token"));
    return value->get<int64_t>();
  }

 private:
  const std::string& place_;
  const Json& keys_;
};

// Returns matrices below each other, or vectors behind each other. Messages call them `what`.
Tensor stacked(const std::string& what, const std::vector<Tensor>& parts) {
  const Shape first = parts.front().shape();
  int64_t rows = 0;
  for (const Tensor& part : parts) {
    require(part.dtype() == parts.front().dtype(), what, " are of types ", parts.front().dtype(),
            " and ", part.dtype(), ": store the model in one type");
    require(
        part.shape().rank() == first.rank() && (first.rank() < 2 || part.shape()[1] == first[1]),
        what, " have shapes ", first, " and ", part.shape(),
        ", which do not have one number of columns");
    rows += part.shape()[0];
  }
  Tensor out(first.rank() < 2 ? Shape{rows} : Shape{rows, first[1]}, parts.front().dtype());
  dispatch_float(out.dtype(), "hugging_face", [&]<class T>(T) {
    T* to = out.data<T>();
    for (const Tensor& part : parts) to = std::copy_n(part.data<T>(), part.elements(), to);
  });
  return out;
}

Tensor zeros(const Tensor& like) { return {Shape{1, like.shape()[1]}, like.dtype()}; }

// Puts the rows of </s> and <unk> before the rows of the tokens, in the tables of words and of the
// head. Excludes <unk> and the token whose row </s> has taken.
void add_special_rows(const std::string& place, const Config& config, bool tied,
                      const Tensor& words, const Tensor& head, double excluded,
                      std::map<std::string, Tensor>& out) {
  const int64_t tokens = words.shape()[0];
  const std::optional<int64_t> begin = config.token("bos_token_id"),
                               end = config.token("eos_token_id");
  require(end || begin, place,
          " lacks 'bos_token_id' and 'eos_token_id': with which token does a text begin?");
  const int64_t bos = begin.value_or(end.value_or(0)), eos = end.value_or(bos);
  for (const int64_t id : {bos, eos})
    require(id < tokens, place, ": the token ", id, " begins or ends a text, but the model has ",
            tokens, " tokens");
  out["embedding.weight"] = stacked(place, {words.row_range(bos, 1), zeros(words), words});
  if (!tied || bos != eos)
    out["head.weight"] = stacked(place, {head.row_range(eos, 1), zeros(head), head});
  Tensor bias({tokens + 2}, words.dtype());
  dispatch_float(bias.dtype(), "hugging_face", [&]<class T>(T) {
    for (const int64_t row : {int64_t{1}, eos + 2}) bias.data<T>()[row] = static_cast<T>(excluded);
  });
  out["head.bias"] = bias;
}

std::string layer_name(int64_t layer) { return concat("transformer.layers.", layer, '.'); }

// Radford et al., 2019. Its linear maps are transposed (Conv1D).
Json read_gpt2(const std::string& place, const Config& config, Tensors& in, double excluded,
               std::map<std::string, Tensor>& out) {
  config.only("scale_attn_weights", true);
  config.only("scale_attn_by_inverse_layer_idx", false);
  config.only("add_cross_attention", false);
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
  config.size("n_inner", out[layer_name(0) + "linear1.weight"].shape()[0]);
  const bool tied = config.yes("tie_word_embeddings", true);
  const Tensor head = in.head(tied, words);
  add_special_rows(place, config, tied, words, head, excluded, out);
  return {{"heads", config.whole("n_head")},
          {"activation", config.text("activation_function", "gelu_new")},
          {"layer_norm_eps", config.number("layer_norm_epsilon", 1e-5)}};
}

// Returns the base of the rotary angles. Error: the angles are scaled, as from Llama 3.1 on.
double rotary_base(const std::string& place, const Config& config) {
  std::optional<double> base;
  const auto take = [&](const Config& from) {
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
    const Config inner(place, *said);
    for (const char* type : {"rope_type", "type"}) inner.only(type, "default");
    take(inner);
  }
  return base.value_or(10000);
}

// Returns how many positions attention sees, as transformers does; nullopt: all. Error: some layers
// see all positions and others do not.
std::optional<int64_t> sliding_window(const std::string& place, const Config& config,
                                      const std::string& type) {
  if (type == "llama") return std::nullopt;  // has no use for the key
  if (type == "qwen3") {
    if (!config.yes("use_sliding_window", false)) return std::nullopt;
    const Json *const kinds = config.find("layer_types"), *const first =
                                                              config.find("max_window_layers");
    if (kinds != nullptr && kinds->is_array() && !kinds->empty()) {
      for (const Json& kind : *kinds)
        require(kind == kinds->front(), place, ": 'layer_types' has ", json_text(kinds->front()),
                " and ", json_text(kind), ", and Nine has one kind of attention for all layers");
      if (kinds->front() != "sliding_attention") return std::nullopt;
    } else {
      require(first != nullptr && *first == 0, place,
              ": 'use_sliding_window' is true for the layers from 'max_window_layers' on (28 ",
              "without the key), and Nine has one window for all layers, which is 0 there");
    }
  }
  // Mistral's default.
  if (!config.has("sliding_window")) return 4096;
  return config.find("sliding_window") == nullptr ? std::nullopt
                                                  : std::optional(config.whole("sliding_window"));
}

// Touvron et al., 2023 (Llama); Jiang et al., 2023 (Mistral); Qwen3 has norms of queries and keys.
Json read_llama(const std::string& place, const std::string& type, const Config& config,
                Tensors& in, double excluded, std::map<std::string, Tensor>& out) {
  const bool qwen3 = type == "qwen3";
  const int64_t hidden = config.whole("hidden_size"), heads = config.whole("num_attention_heads");
  for (const char* key : {"attention_bias", "mlp_bias"}) config.only(key, false);
  config.only("hidden_act", "silu");
  config.only("partial_rotary_factor", 1.0);
  if (hidden % heads == 0) config.only("head_dim", hidden / heads);
  in.leave_out("model.");
  const int64_t layers = config.whole("num_hidden_layers");
  for (int64_t layer = 0; layer < layers; ++layer) {
    const std::string from = concat("layers.", layer, '.'), to = layer_name(layer);
    for (const auto& [theirs, ours] : kLlamaNames)
      out[concat(to, ours, ".weight")] = in.take(concat(from, theirs, ".weight"));
    std::vector<Tensor> maps;
    for (const char* map : kLlamaMaps)
      maps.push_back(in.matrix(concat(from, "self_attn.", map, ".weight")));
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
  const Tensor head = in.head(tied, words);
  add_special_rows(place, config, tied, words, head, excluded, out);
  const int64_t window = std::min(config.whole("max_position_embeddings"),
                                  sliding_window(place, config, type).value_or(INT64_MAX));
  return {
      {"heads", heads},
      {"kv_heads",
       config.find("num_key_value_heads") != nullptr ? config.whole("num_key_value_heads") : heads},
      {"activation", "swiglu"},
      {"norm_type", "rms"},
      {"layer_norm_eps", config.number("rms_norm_eps", 1e-6)},
      {"positions", "rotary"},
      {"rotary_base", rotary_base(place, config)},
      {"bptt", window}};
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
  const Config keys(config_file, config);
  Tensors in(config_file, tensors);
  std::map<std::string, Tensor> out;
  const bool gpt2 = type == "gpt2", llama = type == "llama" || type == "mistral" || type == "qwen3";
  require(gpt2 || llama, config_file, ": the model type is ", quote(type),
          ", and Nine reads the types ", kTypes, " (docs/models.md)");
  Json own = gpt2 ? read_gpt2(config_file, keys, in, excluded, out)
                  : read_llama(config_file, type, keys, in, excluded, out);
  in.require_empty();
  tensors = std::move(out);
  own.update({{"arch", "transformer"}, {"norm", "pre"}, {"embed_scale", 1}, {"head", "lin"}});
  return own;
}

}  // namespace nine
