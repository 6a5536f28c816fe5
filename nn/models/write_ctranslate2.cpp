#include "nn/models/write_ctranslate2.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "core/output_file.h"
#include "core/quote.h"

namespace nine {
namespace {

// CTranslate2's numbers of the types of variables.
enum class VariableType : uint8_t {
  float32 = 0,
  int8 = 1,
  int16 = 2,
  int32 = 3,
  float16 = 4,
  bfloat16 = 5
};

VariableType type_number(WeightType type) {
  return type == WeightType::float16    ? VariableType::float16
         : type == WeightType::bfloat16 ? VariableType::bfloat16
                                        : VariableType::float32;
}

// A setting, as its bytes, or a tensor.
struct Variable {
  VariableType type = VariableType::int8;
  std::string bytes;
  Tensor tensor;
};

// CTranslate2's numbers of activations.
int8_t activation_number(Activation activation) {
  constexpr int8_t kRelu = 0, kGeluTanh = 1, kSilu = 2, kGelu = 3;
  switch (activation) {
    case Activation::relu:
      return kRelu;
    case Activation::gelu_tanh:
      return kGeluTanh;
    case Activation::silu:
    case Activation::swiglu:
      return kSilu;
    case Activation::gelu:
    case Activation::geglu:
      break;
  }
  return kGelu;
}

// The variables of model.bin by their names.
class CTranslate2Variables {
 public:
  explicit CTranslate2Variables(const PlainTranslation& model) : model_(model), c_(model.config) {
    put_side("encoder", c_.encoder_layers,
             model.tensors.contains("src_embedding.weight") ? "src_embedding.weight"
                                                            : "tgt_embedding.weight");
    put_side("decoder", c_.decoder_layers, "tgt_embedding.weight");
    set("encoder/embeddings_merge", int8_t{0});
    set("encoder/multi_query_attention", int8_t{0});
    for (const char* name : {"decoder/alibi", "decoder/alibi_use_positive_positions",
                             "decoder/scale_alibi", "decoder/start_from_zero_embedding"})
      set(name, int8_t{0});
    set("decoder/alignment_layer", int16_t{-1});
    set("decoder/alignment_heads", int16_t{1});
    put("decoder/projection/weight", c_.tie_embeddings ? "tgt_embedding.weight" : "head.weight");
    if (has("head.bias")) put("decoder/projection/bias", "head.bias");
  }
  const std::map<std::string, Variable>& all() const { return all_; }

 private:
  bool has(const std::string& own) const { return model_.tensors.contains(own); }
  const Tensor& at(const std::string& own) const { return model_.tensors.at(own); }
  void put(const std::string& name, const Tensor& tensor) {
    all_[name] = {VariableType::float32, "", tensor};
  }
  void put(const std::string& name, const std::string& own) { put(name, at(own)); }
  template <class T>
  void set(const std::string& name, T value) {
    const VariableType type = std::is_same_v<T, float>     ? VariableType::float32
                              : std::is_same_v<T, int8_t>  ? VariableType::int8
                              : std::is_same_v<T, int16_t> ? VariableType::int16
                                                           : VariableType::int32;
    all_[name] = {type, std::string(reinterpret_cast<const char*>(&value), sizeof value), {}};
  }

  // A linear map: rows of a weight, and of its bias if it has one.
  void put_map(const std::string& name, const std::string& weight, const std::string& bias,
               int64_t first = 0, int64_t count = -1) {
    const int64_t rows = count < 0 ? at(weight).shape()[0] : count;
    put(name + "/weight", at(weight).row_range(first, rows));
    if (!has(bias)) return;
    const Tensor& all = at(bias);
    Tensor some({rows}, DType::float32);
    std::copy_n(all.data<float>() + first, rows, some.data<float>());
    put(name + "/bias", some);
  }
  void put_map(const std::string& name, const std::string& own) {
    put_map(name, own + ".weight", own + ".bias");
  }
  void put_norm(const std::string& name, const std::string& own) {
    put(name + "/gamma", own + ".weight");
    if (has(own + ".bias")) put(name + "/beta", own + ".bias");
  }

  // CTranslate2 has one map for queries, keys and values; towards the encoder one for queries and
  // one for keys and values.
  void put_attention(const std::string& name, const std::string& own, const std::string& norm,
                     bool of_encoder) {
    const std::string weight = own + ".in_proj_weight", bias = own + ".in_proj_bias";
    if (of_encoder) {
      put_map(name + "/linear_0", weight, bias, 0, c_.dim);
      put_map(name + "/linear_1", weight, bias, c_.dim, at(weight).shape()[0] - c_.dim);
    } else {
      put_map(name + "/linear_0", weight, bias);
    }
    put_map(name + (of_encoder ? "/linear_2" : "/linear_1"), own + ".out_proj");
    put_norm(name + "/layer_norm", norm);
    if (of_encoder || added_to_embeddings(c_.style.positions)) return;
    set(name + "/rotary_dim", static_cast<int32_t>(c_.dim / c_.heads));
    set(name + "/rotary_interleave", int8_t{0});
    set(name + "/rotary_base", static_cast<float>(c_.style.rotary_base));
  }

  void put_side(const std::string& side, int64_t layers, const std::string& words) {
    const bool decodes = side == "decoder";
    set(side + "/num_heads", static_cast<int16_t>(c_.heads));
    set(side + "/pre_norm", static_cast<int8_t>(c_.style.norm == NormOrder::pre));
    set(side + "/activation", activation_number(c_.style.activation));
    const double scale = c_.embed_scale.value_or(1), usual = std::sqrt(static_cast<double>(c_.dim));
    if (static_cast<float>(scale) == static_cast<float>(usual))
      set(side + "/scale_embeddings", int8_t{1});
    else
      set(side + "/scale_embeddings", static_cast<float>(scale));
    put(concat(side, decodes ? "/embeddings/weight" : "/embeddings_0/weight"), words);
    if (has(kPositionsName)) put(side + "/position_encodings/encodings", kPositionsName);
    const std::string of = concat("transformer.", side);
    if (has(of + ".norm.weight")) put_norm(side + "/layer_norm", of + ".norm");
    for (int64_t i = 0; i < layers; ++i) {
      const std::string to = concat(side, "/layer_", i), from = concat(of, ".layers.", i, '.');
      put_attention(to + "/self_attention", from + "self_attn", from + "norm1", false);
      if (decodes) put_attention(to + "/attention", from + "multihead_attn", from + "norm2", true);
      put_norm(to + "/ffn/layer_norm", from + (decodes ? "norm3" : "norm2"));
      put_map(to + "/ffn/linear_0", from + "linear1");
      if (is_gated(c_.style.activation)) put_map(to + "/ffn/linear_0_noact", from + "linear3");
      put_map(to + "/ffn/linear_1", from + "linear2");
    }
  }

  const PlainTranslation& model_;
  const TransformerConfig& c_;
  std::map<std::string, Variable> all_;
};

bool same_numbers(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() &&
         std::equal(a.data<float>(), a.data<float>() + a.elements(), b.data<float>());
}

class CTranslate2File {
 public:
  explicit CTranslate2File(const std::filesystem::path& file) : out_(file) {}

  template <class T>
  void number(T value) {
    out_.write(&value, sizeof value);
  }
  void text(std::string_view text) {
    require(text.size() < std::numeric_limits<uint16_t>::max(), "the name ", shortened(text),
            " is too long for a file of CTranslate2");
    number(static_cast<uint16_t>(text.size() + 1));
    out_.write(text.data(), text.size());
    number(char{0});
  }
  void variable(const std::string& name, const Variable& variable, WeightType type) {
    text(name);
    const Tensor& tensor = variable.tensor;
    if (!tensor) {
      number(uint8_t{0});
      number(variable.type);
      number(static_cast<uint32_t>(variable.bytes.size()));
      out_.write(variable.bytes.data(), variable.bytes.size());
      return;
    }
    require_digits(name, tensor, type);
    const int64_t size = type == WeightType::float32 ? 4 : 2, bytes = tensor.elements() * size;
    require(bytes <= std::numeric_limits<uint32_t>::max(), "the tensor '", name, "' has ", bytes,
            " bytes, and a tensor of CTranslate2 has less than 4 GiB: choose --dtype float16");
    const Shape& shape = tensor.shape();
    number(static_cast<uint8_t>(shape.rank()));
    for (int i = 0; i < shape.rank(); ++i) number(static_cast<uint32_t>(shape[i]));
    number(type_number(type));
    number(static_cast<uint32_t>(bytes));
    const float* const from = tensor.data<float>();
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      if (type == WeightType::float32)
        number(from[i]);
      else
        number(type == WeightType::float16 ? checked_half(name, from[i])
                                           : checked_bfloat16(name, from[i]));
    }
  }
  void finish() { out_.finish(); }

 private:
  OutputFile out_;
};

// Writes the variables in the order of their names. A tensor that repeats an earlier one becomes
// its other name.
void write_variables(const PlainTranslation& model, const std::filesystem::path& path,
                     WeightType type) {
  constexpr uint32_t kVersion = 6, kRevision = 7;
  const CTranslate2Variables variables(model);
  std::vector<const std::pair<const std::string, Variable>*> own;
  std::vector<std::pair<std::string, std::string>> aliases;
  for (const auto& named : variables.all()) {
    const auto earlier = std::ranges::find_if(own, [&](const auto* other) {
      return other->second.tensor && named.second.tensor &&
             same_numbers(other->second.tensor, named.second.tensor);
    });
    if (earlier == own.end())
      own.push_back(&named);
    else
      aliases.emplace_back(named.first, (*earlier)->first);
  }
  CTranslate2File file(path);
  file.number(kVersion);
  file.text("TransformerSpec");
  file.number(kRevision);
  file.number(static_cast<uint32_t>(own.size()));
  for (const auto* named : own) file.variable(named->first, named->second, type);
  file.number(static_cast<uint32_t>(aliases.size()));
  for (const auto& [alias, name] : aliases) {
    file.text(alias);
    file.text(name);
  }
  file.finish();
}

// Error: CTranslate2 computes such layers otherwise.
void require_known_layers(const TransformerStyle& style) {
  const char* const lacks = style.kv_heads != 0 ? "fewer heads of keys than of queries"
                            : style.qk_norm     ? "norms of queries and keys"
                                                : nullptr;
  require(lacks == nullptr, "the model has ", lacks == nullptr ? "" : lacks,
          ", which nine_convert does not write for CTranslate2: train without --kv-heads and "
          "--qk-norm");
}

// Returns the words as CTranslate2 knows them, each once. A piece of the model's tokenizer that is
// spelled like a special word gets another name, but for the piece of unknown text: that is
// CTranslate2's <unk>.
Json ctranslate2_words(const TranslationSide& side, const char* file) {
  const Vocabulary& words = side.dictionary;
  const Specials& specials = words.specials();
  std::vector<std::string> all;
  std::set<std::string> seen;
  const auto another = [](int32_t id) { return concat("<row_", id, '>'); };
  for (int32_t id = 0; id < words.size(); ++id) {
    std::string word = words.word(id);
    if (!seen.insert(word).second) {
      require(side.tokenizer.has_value(), file, ": the word ", quote(word),
              " is twice in the dictionary, and CTranslate2 has one id for a word: train with a "
              "dictionary without repeated words");
      word = another(id);
    }
    all.push_back(std::move(word));
  }
  if (const int32_t unknown = side.unknown(); unknown != specials.unknown)
    std::swap(all[static_cast<size_t>(unknown)], all[static_cast<size_t>(specials.unknown)]);
  return all;
}

Json ctranslate2_config(const TransformerStyle& style) {
  constexpr double kUsualEps = 1e-5;  // of CTranslate2's layer norms
  const bool usual = style.norm_type == NormType::layer && style.layer_norm_eps == kUsualEps;
  return {{"add_source_bos", false},
          {"add_source_eos", true},
          {"bos_token", "<s>"},
          {"decoder_start_token", "</s>"},
          {"eos_token", "</s>"},
          {"layer_norm_epsilon", usual ? Json() : Json(style.layer_norm_eps)},
          {"multi_query_attention", false},
          {"unk_token", "<unk>"}};
}

}  // namespace

void write_ctranslate2(const PlainTranslation& model, const std::filesystem::path& directory,
                       WeightType type) {
  require(type != WeightType::q8_0, "a folder of CTranslate2 has no weights of the type q8_0");
  require_known_layers(model.config.style);
  const auto& [source, target] = model.sides;
  write_variables(model, directory / "model.bin", type);
  write_text(directory / "config.json",
             json_text(ctranslate2_config(model.config.style), 2) + '\n');
  const Json of_source = ctranslate2_words(source, "src.dict.txt"),
             of_target = ctranslate2_words(target, "tgt.dict.txt");
  const auto write_words = [&](const char* side, const Json& words) {
    write_text(directory / concat(side, "_vocabulary.json"), json_text(words, 2) + '\n');
  };
  if (of_source == of_target) {
    write_words("shared", of_source);
  } else {
    write_words("source", of_source);
    write_words("target", of_target);
  }
  for (const auto& [file, bytes] : tokenizer_files(model.sides))
    write_text(directory / file, bytes);
}

}  // namespace nine
