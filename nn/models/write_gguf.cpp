#include "nn/models/write_gguf.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/half.h"
#include "core/json.h"
#include "core/output_file.h"
#include "core/quote.h"
#include "data/tokenizers/split_pattern.h"

namespace nine {
namespace {

constexpr size_t kAlignment = 32;      // of each tensor's data
constexpr int64_t kGroupNumbers = 32;  // of q8_0

// The numbers of the format for types of values, of tensors and of tokens.
enum class ValueType : uint32_t {
  uint32 = 4,
  int32 = 5,
  float32 = 6,
  boolean = 7,
  text = 8,
  list = 9
};
enum class TensorType : uint32_t { f32 = 0, f16 = 1, q8_0 = 8, bf16 = 30 };
enum class TokenType : int32_t { usual = 1, special = 3, added = 4, unused = 5 };

// Bytes of the file's first part.
class GgufBytes {
 public:
  template <class T>
  void number(T value) {
    std::array<char, sizeof(T)> bytes{};
    std::memcpy(bytes.data(), &value, sizeof(T));
    all_.append(bytes.data(), bytes.size());
  }
  void text(std::string_view value) {
    number(static_cast<uint64_t>(value.size()));
    all_ += value;
  }
  void type(ValueType value) { number(static_cast<uint32_t>(value)); }
  void align() { all_.resize((all_.size() + kAlignment - 1) / kAlignment * kAlignment); }
  const std::string& all() const { return all_; }
  void append(const GgufBytes& other) { all_ += other.all_; }

 private:
  std::string all_;
};

// The keys of the file.
class GgufKeys {
 public:
  void text(const std::string& key, std::string_view value) {
    begin(key, ValueType::text);
    bytes_.text(value);
  }
  void count(const std::string& key, int64_t value) {
    begin(key, ValueType::uint32);
    bytes_.number(static_cast<uint32_t>(value));
  }
  void real(const std::string& key, double value) {
    begin(key, ValueType::float32);
    bytes_.number(static_cast<float>(value));
  }
  void yes(const std::string& key, bool value) {
    begin(key, ValueType::boolean);
    bytes_.number(static_cast<uint8_t>(value));
  }
  void texts(const std::string& key, const std::vector<std::string>& values) {
    begin_list(key, ValueType::text, values.size());
    for (const std::string& value : values) bytes_.text(value);
  }
  void types(const std::string& key, const std::vector<TokenType>& values) {
    begin_list(key, ValueType::int32, values.size());
    for (const TokenType value : values) bytes_.number(static_cast<int32_t>(value));
  }
  uint64_t size() const { return keys_; }
  const GgufBytes& bytes() const { return bytes_; }

 private:
  void begin(const std::string& key, ValueType type) {
    ++keys_;
    bytes_.text(key);
    bytes_.type(type);
  }
  void begin_list(const std::string& key, ValueType type, size_t size) {
    begin(key, ValueType::list);
    bytes_.type(type);
    bytes_.number(static_cast<uint64_t>(size));
  }

  GgufBytes bytes_;
  uint64_t keys_ = 0;
};

// A tensor to write, float32 in memory.
struct GgufTensor {
  std::string name;
  Tensor tensor;
  TensorType type = TensorType::f32;

  int64_t row_bytes() const {
    const int64_t cols = tensor.shape().cols();
    switch (type) {
      case TensorType::f16:
      case TensorType::bf16:
        return 2 * cols;
      case TensorType::q8_0:
        return cols / kGroupNumbers * (2 + kGroupNumbers);
      case TensorType::f32:
        break;
    }
    return 4 * cols;
  }
  uint64_t bytes() const { return static_cast<uint64_t>(tensor.shape().rows() * row_bytes()); }
};

TensorType type_of_matrix(WeightType type, int64_t cols) {
  switch (type) {
    case WeightType::float16:
      return TensorType::f16;
    case WeightType::bfloat16:
      return TensorType::bf16;
    case WeightType::q8_0:
      return cols % kGroupNumbers == 0 ? TensorType::q8_0 : TensorType::f16;
    case WeightType::float32:
      break;
  }
  return TensorType::f32;
}

// What llama.cpp calls the type of a file (general.file_type).
int64_t file_type(WeightType type) {
  constexpr int64_t kF32 = 0, kF16 = 1, kQ8 = 7, kBf16 = 32;
  return type == WeightType::float16    ? kF16
         : type == WeightType::q8_0     ? kQ8
         : type == WeightType::bfloat16 ? kBf16
                                        : kF32;
}

// llama.cpp rotates neighbouring numbers of Llama's heads, and Nine one half with the other: puts
// the rows of each head in the order of llama.cpp.
Tensor interleaved(const Tensor& rows, int64_t head_size) {
  Tensor out(rows.shape(), DType::float32);
  const int64_t width = rows.shape()[1], half = head_size / 2;
  for (int64_t r = 0; r < rows.shape()[0]; ++r) {
    const int64_t head = r / head_size, i = r % head_size;
    const int64_t from = head * head_size + i / 2 + (i % 2) * half;
    std::copy_n(rows.data<float>() + from * width, width, out.data<float>() + r * width);
  }
  return out;
}

// Returns the number by which llama.cpp divides the angles of each pair.
Tensor divisors(const TransformerStyle& style, int64_t head_size) {
  const int64_t half = head_size / 2;
  Tensor out({half}, DType::float32);
  for (int64_t i = 0; i < half; ++i)
    out.data<float>()[i] = static_cast<float>(style.rotary_scaling.divisor(
        std::pow(style.rotary_base, -static_cast<double>(i) / static_cast<double>(half))));
  return out;
}

class GgufTensors {
 public:
  GgufTensors(const PlainTransformer& model, WeightType type) : model_(model), type_(type) {
    put("token_embd.weight", "embedding.weight");
    if (!model.config.tie_embeddings) put("output.weight", "head.weight");
    if (gpt2())
      put_gpt2();
    else
      put_llama();
  }
  const std::vector<GgufTensor>& all() const { return all_; }

 private:
  bool gpt2() const { return model_.network == PlainNetwork::gpt2; }
  const Tensor& at(const std::string& own) const { return model_.tensors.at(own); }
  void put(const std::string& name, const std::string& own) { put(name, at(own)); }
  void put(const std::string& name, const Tensor& tensor) {
    const Shape& shape = tensor.shape();
    const TensorType type =
        shape.rank() == 2 ? type_of_matrix(type_, shape.cols()) : TensorType::f32;
    all_.push_back({name, tensor, type});
  }

  void put_gpt2() {
    put("position_embd.weight", "positions.weight");
    all_.back().type = TensorType::f32;
    for (const char* part : {".weight", ".bias"}) {
      put(concat("output_norm", part), concat("transformer.norm", part));
      for (int64_t layer = 0; layer < model_.config.layers; ++layer) {
        const std::string to = concat("blk.", layer, '.'),
                          from = concat("transformer.layers.", layer, '.');
        const std::string maps = part[1] == 'w' ? "in_proj_weight" : "in_proj_bias";
        put(concat(to, "attn_qkv", part), concat(from, "self_attn.", maps));
        for (const auto& [theirs, ours] : {std::pair("attn_norm", "norm1"),
                                           {"ffn_norm", "norm2"},
                                           {"attn_output", "self_attn.out_proj"},
                                           {"ffn_up", "linear1"},
                                           {"ffn_down", "linear2"}})
          put(concat(to, theirs, part), concat(from, ours, part));
      }
    }
  }

  void put_llama() {
    const TransformerLanguageModelConfig& c = model_.config;
    const int64_t head_size = c.hidden / c.heads;
    put("output_norm.weight", "transformer.norm.weight");
    if (c.style.rotary_scaling.kind == RotaryScalingKind::llama3)
      put("rope_freqs.weight", divisors(c.style, head_size));
    for (int64_t layer = 0; layer < c.layers; ++layer) {
      const std::string to = concat("blk.", layer, '.'),
                        from = concat("transformer.layers.", layer, '.');
      const Tensor& maps = at(from + "self_attn.in_proj_weight");
      const int64_t keys = (maps.shape()[0] - c.hidden) / 2;
      const Tensor q = maps.row_range(0, c.hidden), k = maps.row_range(c.hidden, keys);
      const bool pairs = model_.network == PlainNetwork::llama;
      put(to + "attn_q.weight", pairs ? interleaved(q, head_size) : q);
      put(to + "attn_k.weight", pairs ? interleaved(k, head_size) : k);
      put(to + "attn_v.weight", maps.row_range(c.hidden + keys, keys));
      for (const auto& [theirs, ours] : {std::pair("attn_norm", "norm1"),
                                         {"ffn_norm", "norm2"},
                                         {"attn_output", "self_attn.out_proj"},
                                         {"ffn_gate", "linear1"},
                                         {"ffn_up", "linear3"},
                                         {"ffn_down", "linear2"}})
        put(concat(to, theirs, ".weight"), concat(from, ours, ".weight"));
      if (!c.style.qk_norm) continue;
      put(to + "attn_q_norm.weight", from + "self_attn.q_norm.weight");
      put(to + "attn_k_norm.weight", from + "self_attn.k_norm.weight");
    }
  }

  const PlainTransformer& model_;
  WeightType type_;
  std::vector<GgufTensor> all_;
};

// Returns llama.cpp's name of the pre-tokeniser. Error: llama.cpp does not have it.
const char* pre_tokenizer_name(const Json& json) {
  constexpr const char* kQwen2 =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  const auto is_bytes = [](const Json& part, bool cuts) {
    return part.is_object() && part.value("type", "") == "ByteLevel" &&
           part.value("use_regex", true) == cuts && !part.value("add_prefix_space", true);
  };
  if (is_bytes(json, true)) return "gpt-2";
  const Json parts = json.is_object() ? json.value("pretokenizers", Json()) : Json();
  if (parts.is_array() && parts.size() == 2 && parts[0].value("type", "") == "Split" &&
      parts[0].value("behavior", "") == "Isolated" && !parts[0].value("invert", false) &&
      is_bytes(parts[1], false)) {
    const Json pattern = parts[0].value("pattern", Json::object()).value("Regex", Json());
    if (pattern == pattern_of(Split::gpt2)) return "gpt-2";
    if (pattern == pattern_of(Split::llama3)) return "llama-bpe";
    if (pattern == kQwen2) return "qwen2";
  }
  fail("llama.cpp does not have the pre-tokeniser ", shortened(json_text(json)),
       ": train with the split of gpt2, gpt4 or llama3, or write a folder of transformers");
}

// Error: llama.cpp cuts some texts otherwise than the tokenizer.
void require_same_cutting(const Json& json, std::string_view pre) {
  constexpr const char* kInstead = ": write a folder of transformers";
  const Json& bpe = json["model"];
  require(!bpe.value("ignore_merges", false) || pre == "llama-bpe",
          "llama.cpp takes a piece that is a token whole (ignore_merges) only with the split of "
          "llama3",
          kInstead);
  for (const Json& token : json["added_tokens"])
    for (const char* rule : {"single_word", "lstrip", "rstrip"})
      require(!token.value(rule, false), "llama.cpp does not have the rule '", rule,
              "' of the token ", quote(token["content"].get<std::string>()), kInstead);
}

void put_tokenizer(const PlainTransformer& model, GgufKeys& keys) {
  const Json json = parse_json(model.tokenizer), &bpe = json["model"];
  const Json type = bpe.value("type", Json());
  require(type == "BPE" || (type.is_null() && bpe.contains("merges")),
          "a GGUF file has tokenizers of byte pairs, and the model's is ", json_text(type),
          ": write a folder of transformers, or train with a tokenizer of byte pairs");
  require(json.value("normalizer", Json()).is_null(),
          "llama.cpp does not normalise text, and the model's tokenizer has a normalizer: write a "
          "folder of transformers");
  const char* const pre = pre_tokenizer_name(json.value("pre_tokenizer", Json()));
  require_same_cutting(json, pre);
  std::vector<std::string> tokens(static_cast<size_t>(model.config.vocab));
  std::vector<TokenType> types(tokens.size(), TokenType::unused);
  for (size_t id = 0; id < tokens.size(); ++id) tokens[id] = concat("[PAD", id, ']');
  for (const auto& [token, id] : bpe["vocab"].items()) {
    tokens.at(id.get<size_t>()) = token;
    types.at(id.get<size_t>()) = TokenType::usual;
  }
  for (const Json& token : json["added_tokens"]) {
    const auto id = token["id"].get<size_t>();
    tokens.at(id) = token["content"].get<std::string>();
    types.at(id) = token.value("special", false) ? TokenType::special : TokenType::added;
  }
  std::vector<std::string> merges;
  for (const Json& merge : bpe["merges"])
    merges.push_back(merge.is_string()
                         ? merge.get<std::string>()
                         : concat(merge[0].get<std::string>(), ' ', merge[1].get<std::string>()));
  keys.text("tokenizer.ggml.model", "gpt2");
  keys.text("tokenizer.ggml.pre", pre);
  keys.texts("tokenizer.ggml.tokens", tokens);
  keys.types("tokenizer.ggml.token_type", types);
  keys.texts("tokenizer.ggml.merges", merges);
  keys.count("tokenizer.ggml.bos_token_id", model.begin);
  keys.count("tokenizer.ggml.eos_token_id", model.end);
  keys.yes("tokenizer.ggml.add_bos_token", true);
  keys.yes("tokenizer.ggml.add_eos_token", false);
}

void put_network(const PlainTransformer& model, WeightType type, GgufKeys& keys) {
  const TransformerLanguageModelConfig& c = model.config;
  const std::string arch = to_text(model.network);
  const bool gpt2 = model.network == PlainNetwork::gpt2;
  require(!gpt2 || c.style.activation == Activation::gelu_tanh,
          "llama.cpp computes the activation gelu-tanh in gpt2, and the model has ",
          c.style.activation, ": write a folder of transformers, or train with gelu-tanh");
  const auto key = [&](const char* name) { return concat(arch, '.', name); };
  keys.text("general.architecture", arch);
  keys.count("general.file_type", file_type(type));
  keys.count(key("vocab_size"), c.vocab);
  keys.count(key("context_length"), c.window);
  keys.count(key("embedding_length"), c.hidden);
  keys.count(key("block_count"), c.layers);
  keys.count(key("feed_forward_length"), c.ffn);
  keys.count(key("attention.head_count"), c.heads);
  keys.real(key(gpt2 ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon"),
            c.style.layer_norm_eps);
  if (gpt2) return;
  const int64_t size = c.hidden / c.heads;
  keys.count(key("attention.head_count_kv"), c.style.kv_heads != 0 ? c.style.kv_heads : c.heads);
  for (const char* name :
       {"attention.key_length", "attention.value_length", "rope.dimension_count"})
    keys.count(key(name), size);
  keys.real(key("rope.freq_base"), c.style.rotary_base);
  const RotaryScaling& scaling = c.style.rotary_scaling;
  require(scaling.kind != RotaryScalingKind::llama3 || model.network == PlainNetwork::llama,
          "llama.cpp has the rotary scaling llama3 in llama alone, and the model is ", arch,
          ": write a folder of transformers");
  if (scaling.kind != RotaryScalingKind::linear) return;
  keys.text(key("rope.scaling.type"), "linear");
  keys.real(key("rope.scaling.factor"), scaling.factor);
}

// Writes a group of q8_0: the factor d = max |x| / 127, and x / d rounded.
void write_group(const GgufTensor& tensor, const float* x, uint8_t* to) {
  float largest = 0;
  for (int64_t i = 0; i < kGroupNumbers; ++i) largest = std::max(largest, std::abs(x[i]));
  const float factor = largest / 127, inverse = factor != 0 ? 1 / factor : 0;
  const uint16_t stored = checked_half(tensor.name, factor);
  std::memcpy(to, &stored, sizeof stored);
  for (int64_t i = 0; i < kGroupNumbers; ++i)
    to[2 + i] = static_cast<uint8_t>(static_cast<int8_t>(std::round(x[i] * inverse)));
}

void write_row(const GgufTensor& tensor, const float* row, uint8_t* to) {
  const int64_t cols = tensor.tensor.shape().cols();
  switch (tensor.type) {
    case TensorType::f32:
      std::memcpy(to, row, static_cast<size_t>(cols) * sizeof(float));
      return;
    case TensorType::q8_0:
      for (int64_t c = 0; c < cols; c += kGroupNumbers, to += 2 + kGroupNumbers)
        write_group(tensor, row + c, to);
      return;
    case TensorType::f16:
    case TensorType::bf16:
      for (int64_t c = 0; c < cols; ++c, to += 2) {
        const uint16_t bits = tensor.type == TensorType::f16
                                  ? checked_half(tensor.name, row[c])
                                  : checked_bfloat16(tensor.name, row[c]);
        std::memcpy(to, &bits, sizeof bits);
      }
  }
}

uint64_t padding_of(uint64_t bytes) { return (kAlignment - bytes % kAlignment) % kAlignment; }

}  // namespace

void write_gguf(const PlainTransformer& model, const std::filesystem::path& file, WeightType type) {
  constexpr uint32_t kVersion3 = 3;
  GgufKeys keys;
  put_network(model, type, keys);
  put_tokenizer(model, keys);
  const GgufTensors tensors(model, type);
  GgufBytes head;
  for (const char c : {'G', 'G', 'U', 'F'}) head.number(c);
  head.number(kVersion3);
  head.number(static_cast<uint64_t>(tensors.all().size()));
  head.number(keys.size());
  head.append(keys.bytes());
  uint64_t offset = 0;
  for (const GgufTensor& tensor : tensors.all()) {
    if (tensor.type == TensorType::f16)
      require_digits(tensor.name, tensor.tensor, WeightType::float16);
    if (tensor.type == TensorType::q8_0)
      require_digits(tensor.name, tensor.tensor, WeightType::q8_0);
    const Shape& shape = tensor.tensor.shape();
    head.text(tensor.name);
    head.number(static_cast<uint32_t>(shape.rank()));
    for (int i = shape.rank(); i-- > 0;) head.number(static_cast<uint64_t>(shape[i]));
    head.number(static_cast<uint32_t>(tensor.type));
    head.number(offset);
    offset += tensor.bytes() + padding_of(tensor.bytes());
  }
  head.align();
  OutputFile out(file);
  out.write(head.all().data(), head.all().size());
  std::vector<uint8_t> row;
  const std::array<uint8_t, kAlignment> zeros{};
  for (const GgufTensor& tensor : tensors.all()) {
    row.resize(static_cast<size_t>(tensor.row_bytes()));
    const int64_t cols = tensor.tensor.shape().cols();
    for (int64_t r = 0; r < tensor.tensor.shape().rows(); ++r) {
      write_row(tensor, tensor.tensor.data<float>() + r * cols, row.data());
      out.write(row.data(), row.size());
    }
    out.write(zeros.data(), padding_of(tensor.bytes()));
  }
  out.finish();
}

}  // namespace nine
