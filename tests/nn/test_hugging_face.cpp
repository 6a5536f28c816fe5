// Folders of transformers (docs/models.md), written by hand from a network of Nine. Beside
// transformers itself: tests/clients/hugging_face.py.
#include "nn/models/hugging_face.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "checks/op_cases.h"
#include "core/notice.h"
#include "core/safetensors.h"
#include "data/tokenizers/model_tokenizer.h"
#include "nn/models/language_model.h"
#include "nn/models/plain_transformer.h"
#include "nn/models/read_model.h"
#include "nn/models/transformer_language_model.h"
#include "nn/models/word_surprisals.h"
#include "nn/models/write_hugging_face.h"
#include "nn/models/write_model.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_hugging_face {
namespace {

// Five tokens: a space is Ġ, a line end Ċ.
constexpr const char* kTokenizer = R"({"version": "1.0", "truncation": null, "padding": null,
  "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "ByteLevel",
  "add_prefix_space": false, "trim_offsets": true, "use_regex": false}, "post_processor": null,
  "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
  "use_regex": true}, "model": {"type": "BPE", "dropout": null, "unk_token": null,
  "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false,
  "byte_fallback": false, "ignore_merges": false,
  "vocab": {"a": 0, "b": 1, ".": 2, "Ċ": 3, "Ġ": 4}, "merges": []}})";
constexpr int64_t kTokens = 5, kRows = 7, kSize = 8, kHeads = 2, kLayers = 2, kWindow = 16;
const std::vector<std::string> kLines{"ab a.\n", "b", "", "aaaa bbbb a\n"};

Tensor transposed(const Tensor& m) {
  Tensor out({m.shape()[1], m.shape()[0]}, m.dtype());
  for (int64_t r = 0; r < m.shape()[0]; ++r)
    for (int64_t c = 0; c < m.shape()[1]; ++c)
      out.data<double>()[c * m.shape()[0] + r] = m.data<double>()[r * m.shape()[1] + c];
  return out;
}

// A network of Nine whose first two rows are those that a model of transformers gets, and the
// folder that transformers would write of the other rows.
struct Model {
  Model(const TransformerStyle& style, bool tied, int64_t begin, int64_t end)
      : network(set, {.vocab = kRows + 2,
                      .layers = kLayers,
                      .hidden = kSize,
                      .ffn = 12,
                      .heads = kHeads,
                      .window = kWindow,
                      .style = style,
                      .dropout = 0,
                      .tie_embeddings = tied,
                      .head = {.bias = true}}) {
    for (const NamedView& p : set.named(set.values())) {
      const auto values = checks::random_values({{p.view.shape, -0.6, 0.6}}, stream_id(p.name))[0];
      std::copy(values.begin(), values.end(), p.view.as<double>());
      Tensor copy(p.view.shape, DType::float64);
      std::copy(values.begin(), values.end(), copy.data<double>());
      tensors[p.name] = copy;
    }
    const auto row = [&](const char* name, int64_t to, int64_t from) {
      double* const data = tensors.at(name).data<double>();
      for (int64_t c = 0; c < kSize; ++c)
        data[to * kSize + c] = from < 0 ? 0 : data[from * kSize + c];
    };
    row("embedding.weight", 0, begin + 2);
    row("embedding.weight", 1, -1);
    if (!tied) {
      row("head.weight", 0, end + 2);
      row("head.weight", 1, -1);
    }
    double* const bias = tensors.at("head.bias").data<double>();
    std::fill_n(bias, kRows + 2, 0.0);
    bias[1] = bias[end + 2] = -INFINITY;
    config = {{"bos_token_id", begin}, {"eos_token_id", end}, {"tie_word_embeddings", tied}};
  }

  // The scores of Nine's own form of the model.
  std::vector<std::vector<double>> expected(const Json& own) const {
    write(own, tensors);
    std::vector<std::string> words{"a", "b", ".", "Ċ", "Ġ", "<id_5>", "<id_6>"};
    dir.write("dict.txt", Vocabulary::of_list(words, Specials::kLanguageModel).dict_text());
    auto scores = LanguageModel::load(path).score(kLines);
    std::filesystem::remove(dir / "dict.txt");
    return scores;
  }
  void write(const Json& keys, const std::map<std::string, Tensor>& parts) const {
    dir.write("tokenizer.json", kTokenizer);
    dir.write("config.json", keys.dump());
    std::vector<NamedView> views;
    for (const auto& [name, tensor] : parts) views.push_back({name, tensor});
    write_safetensors(dir / "model.safetensors", views);
  }
  // The rows of a table without the two that Nine adds.
  Tensor rows_of(const char* name) const { return tensors.at(name).row_range(2, kRows).clone(); }
  // The same through nine_convert's ways: the model as Nine's own files, and from there to
  // transformers' again, whose tensors are the same.
  void check_converted(const std::vector<std::vector<double>>& scores,
                       const std::map<std::string, Tensor>& parts) const;
  std::string error(const Json& keys, const std::map<std::string, Tensor>& parts) const {
    write(keys, parts);
    return error_of([&] { LanguageModel::load(path); });
  }

  ParameterSet set{{.dtype = DType::float64}};
  TransformerLanguageModel network;
  std::map<std::string, Tensor> tensors;
  Json config;
  TemporaryDirectory dir;
  std::string path = dir.path().string();
};

void check_close(const std::vector<std::vector<double>>& a,
                 const std::vector<std::vector<double>>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    REQUIRE(a[i].size() == b[i].size());
    for (size_t t = 0; t < a[i].size(); ++t)
      CHECK((a[i][t] == b[i][t] || std::abs(a[i][t] - b[i][t]) < 1e-12));
  }
}

void Model::check_converted(const std::vector<std::vector<double>>& scores,
                            const std::map<std::string, Tensor>& parts) const {
  const TemporaryDirectory nine, back;
  write_model(read_model(path), nine.path());
  check_close(LanguageModel::load(nine.path().string()).score(kLines), scores);
  const PlainTransformer plain = plain_transformer(read_model(nine.path()));
  CHECK(plain.begin == config["bos_token_id"]);
  CHECK(plain.end == config["eos_token_id"]);
  write_hugging_face(plain, back.path(), WeightType::float32);
  const Safetensors written = read_safetensors(back / "model.safetensors");
  CHECK(written.tensors.size() == parts.size());
  for (const auto& part : parts) {
    CAPTURE(part.first);
    REQUIRE(written.tensors.contains(part.first));
    const std::vector<double> is = written.at(part.first).to_vector(),
                              must = part.second.to_vector();
    REQUIRE(is.size() == must.size());
    for (size_t i = 0; i < is.size(); ++i) REQUIRE(is[i] == static_cast<float>(must[i]));
  }
  const Json keys = read_json_object(back / "config.json");
  for (const auto& item : config.items())
    CHECK_MESSAGE(keys.value(item.key(), Json()) == item.value(), item.key());
}

// The tensors of GPT-2 that transformers would write.
std::map<std::string, Tensor> gpt2_parts(const Model& m) {
  std::map<std::string, Tensor> parts{{"transformer.wte.weight", m.rows_of("embedding.weight")},
                                      {"transformer.wpe.weight", m.tensors.at("positions.weight")}};
  for (const char* end : {".weight", ".bias"}) {
    parts[concat("transformer.ln_f", end)] = m.tensors.at(concat("transformer.norm", end));
    for (int64_t layer = 0; layer < kLayers; ++layer) {
      const std::string from = concat("transformer.layers.", layer, '.'),
                        to = concat("transformer.h.", layer, '.');
      const std::string projection =
          std::string(end) == ".weight" ? "self_attn.in_proj_weight" : "self_attn.in_proj_bias";
      parts[to + "attn.c_attn" + end] = m.tensors.at(from + projection);
      for (const auto& [ours, theirs] : {std::pair("norm1", "ln_1"),
                                         {"norm2", "ln_2"},
                                         {"self_attn.out_proj", "attn.c_proj"},
                                         {"linear1", "mlp.c_fc"},
                                         {"linear2", "mlp.c_proj"}})
        parts[concat(to, theirs, end)] = m.tensors.at(concat(from, ours, end));
    }
  }
  for (auto& [name, tensor] : parts)
    if (name.find(".c_") != std::string::npos && name.ends_with("weight"))
      tensor = transposed(tensor);
  if (m.tensors.contains("head.weight")) parts["lm_head.weight"] = m.rows_of("head.weight");
  return parts;
}

// What is said while f runs.
template <class F>
std::string notices_of(F&& f) {
  std::string all;
  set_notices([&](const std::string& text) { all += text + '\n'; });
  f();
  set_notices([](const std::string&) {});
  return all;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("hugging face: GPT-2's tensors are transposed, and its end counts once") {
  TransformerStyle style = TransformerStyle::gpt2();
  style.activation = Activation::gelu_tanh;
  Model m(style, true, 3, 3);
  const auto expected = m.expected({{"heads", kHeads},
                                    {"norm", "pre"},
                                    {"activation", "gelu-tanh"},
                                    {"head", "lin"},
                                    {"embed_scale", 1},
                                    {"layer_norm_eps", 1e-5}});
  m.config.update({{"model_type", "gpt2"},
                   {"n_layer", kLayers},
                   {"n_head", kHeads},
                   {"n_embd", kSize},
                   {"n_inner", 12},
                   {"activation_function", "gelu_new"},
                   {"layer_norm_epsilon", 1e-5}});
  const std::map<std::string, Tensor> parts = gpt2_parts(m);
  m.write(m.config, parts);
  check_close(LanguageModel::load(m.path).score(kLines), expected);
  m.check_converted(expected, parts);
  CHECK(
      LanguageModel::load(m.path).generate({"a"}, {.sampling = {.temperature = 0}})[0].starts_with(
          "a"));
  // A checkpoint without the prefix, with the tied head and with the buffers of older versions.
  std::map<std::string, Tensor> older;
  for (const auto& [name, tensor] : parts)
    older[name.substr(std::string("transformer.").size())] = tensor;
  older["lm_head.weight"] = m.rows_of("embedding.weight");
  older["h.0.attn.bias"] = Tensor({1, 1, 4, 4}, DType::float64);
  m.write(m.config, older);
  check_close(LanguageModel::load(m.path).score(kLines), expected);
  // Keys that nobody knows are said; those of training and of generate() are not.
  Json more = m.config;
  more.update({{"attn_pdrop", 0.1}, {"top_k", 50}, {"_name_or_path", "x"}, {"mystery", nullptr}});
  m.write(more, parts);
  CHECK(notices_of([&] { LanguageModel::load(m.path); }).empty());
  more["nine_head"] = "lin";
  m.write(more, parts);
  CHECK(notices_of([&] { LanguageModel::load(m.path); }).empty());
  more.update({{"mystery", 3}, {"rope_theta", 5}});
  m.write(more, parts);
  CHECK(has(notices_of([&] { LanguageModel::load(m.path); }),
            "Nine does not know the keys 'mystery', 'rope_theta', and does not read them"));
  more = m.config;
  more["eos_token_id"] = {3, 4};
  m.write(more, parts);
  CHECK(has(notices_of([&] { check_close(LanguageModel::load(m.path).score(kLines), expected); }),
            "'eos_token_id' has 2 tokens, and the first, 3, is the one that counts"));
  // A head that differs from the embeddings is not left out silently.
  older.at("lm_head.weight").data<double>()[3] += 1;
  CHECK(has(m.error(m.config, older), "'tie_word_embeddings' is true or missing, but the tensor"));
  Json wrong = m.config;
  wrong["scale_attn_by_inverse_layer_idx"] = true;
  CHECK(has(m.error(wrong, parts),
            "the key 'scale_attn_by_inverse_layer_idx' is true, and Nine has false alone"));
  wrong = m.config;
  wrong["model_type"] = "bloom";
  CHECK(has(m.error(wrong, parts),
            "the model type is 'bloom', and Nine reads the types gpt2, llama"));
  wrong = m.config;
  wrong["n_layer"] = kLayers + 1;
  CHECK(has(m.error(wrong, parts), "the model lacks the tensor 'h.2.ln_1.weight'"));
  wrong["n_layer"] = 1;
  CHECK(has(m.error(wrong, parts), "Nine does not read the tensor 'h.1."));
  for (const char* key : {"vocab_size", "n_embd", "n_positions", "n_inner"}) {
    wrong = m.config;
    wrong[key] = 9;
    CHECK(has(m.error(wrong, parts), key));
  }
  for (const Json& inner : {Json(), Json(4 * kSize)}) {
    wrong = m.config;
    wrong["n_inner"] = inner;  // null: 4 * n_embd
    CHECK(has(m.error(wrong, parts), "n_inner"));
    CHECK(has(m.error(wrong, parts), "the tensors have 12"));
  }
  // The second names of transformers' attribute_map.
  for (const auto& names : {std::pair("n_embd", "hidden_size"),
                            {"n_positions", "max_position_embeddings"},
                            {"n_head", "num_attention_heads"},
                            {"n_layer", "num_hidden_layers"}}) {
    const char *const own = names.first, *const other = names.second;
    Json renamed = m.config;
    renamed[other] = renamed.value(own, Json(kWindow));
    renamed.erase(own);
    m.write(renamed, parts);
    check_close(LanguageModel::load(m.path).score(kLines), expected);
    renamed[own] = renamed[other];
    CHECK(m.error(renamed, parts).empty());
    renamed[own] = 9;
    CHECK(has(m.error(renamed, parts), concat("the key '", own, "' is 9, and the key '", other,
                                              "', another name of it, is ")));
  }
  for (const auto& one :
       {std::tuple("activation_function", Json("gelu-tanh"), "one of gelu_new, gelu, relu"),
        std::tuple("activation_function", Json("quick_gelu"), "'activation_function' is"),
        std::tuple("is_causal", Json(false), "the key 'is_causal' is false, and Nine has true"),
        std::tuple("layer_norm_epsilon", Json(), "a number"),
        std::tuple("quantization_config", Json{{"bits", 4}}, "weights that are not quantised")}) {
    wrong = m.config;
    wrong[std::get<0>(one)] = std::get<1>(one);
    const std::string error = m.error(wrong, parts);
    CHECK_MESSAGE(has(error, std::get<2>(one)), error);
  }
  // A missing key has the value of transformers, which such a small model does not have.
  wrong = m.config;
  wrong.erase("eos_token_id");
  CHECK(has(m.error(wrong, parts), "lacks 'eos_token_id', which then means 50256, but the model"));
  wrong = m.config;
  wrong["eos_token_id"] = kRows;
  CHECK(has(m.error(wrong, parts), "'eos_token_id' is 7, but the model has 7 tokens"));
  // The head of nine.torch.patch().
  Json patched = m.config;
  patched["nine_head"] = "log:p=3";
  m.write(patched, parts);
  CHECK(LanguageModel::load(m.path).network().head().present_spec().to_text() == "log:p=3");
  patched["nine_head"] = "logarithm";
  CHECK(has(m.error(patched, parts), "logarithm"));
  m.write(m.config, parts);
  std::filesystem::remove(m.dir / "tokenizer.json");
  CHECK(has(error_of([&] { LanguageModel::load(m.path); }), "needs its tokenizer.json"));
}

TEST_CASE("hugging face: Llama's maps of queries, keys and values are stacked") {
  TransformerStyle style = TransformerStyle::llama();
  style.kv_heads = 1;
  style.qk_norm = true;
  style.layer_norm_eps = 1e-3;
  style.rotary_base = 500;
  Model m(style, false, 1, 2);
  const auto expected = m.expected({{"heads", kHeads},
                                    {"norm", "pre"},
                                    {"norm_type", "rms"},
                                    {"activation", "swiglu"},
                                    {"positions", "rotary"},
                                    {"rotary_base", 500},
                                    {"bptt", kWindow},
                                    {"head", "lin"},
                                    {"embed_scale", 1},
                                    {"layer_norm_eps", 1e-3}});
  m.config.update({{"model_type", "qwen3"},
                   {"num_hidden_layers", kLayers},
                   {"num_attention_heads", kHeads},
                   {"num_key_value_heads", 1},
                   {"hidden_size", kSize},
                   {"head_dim", kSize / kHeads},
                   {"hidden_act", "silu"},
                   {"rms_norm_eps", 1e-3},
                   {"rope_theta", 500},
                   {"max_position_embeddings", kWindow}});
  std::map<std::string, Tensor> parts{
      {"model.embed_tokens.weight", m.rows_of("embedding.weight")},
      {"lm_head.weight", m.rows_of("head.weight")},
      {"model.norm.weight", m.tensors.at("transformer.norm.weight")}};
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    const std::string from = concat("transformer.layers.", layer, '.'),
                      to = concat("model.layers.", layer, '.');
    const Tensor& maps = m.tensors.at(from + "self_attn.in_proj_weight");
    parts[to + "self_attn.q_proj.weight"] = maps.row_range(0, 8).clone();
    parts[to + "self_attn.k_proj.weight"] = maps.row_range(8, 4).clone();
    parts[to + "self_attn.v_proj.weight"] = maps.row_range(12, 4).clone();
    for (const auto& [ours, theirs] : {std::pair("norm1", "input_layernorm"),
                                       {"norm2", "post_attention_layernorm"},
                                       {"self_attn.out_proj", "self_attn.o_proj"},
                                       {"self_attn.q_norm", "self_attn.q_norm"},
                                       {"self_attn.k_norm", "self_attn.k_norm"},
                                       {"linear1", "mlp.gate_proj"},
                                       {"linear3", "mlp.up_proj"},
                                       {"linear2", "mlp.down_proj"}})
      parts[concat(to, theirs, ".weight")] = m.tensors.at(concat(from, ours, ".weight"));
  }
  m.write(m.config, parts);
  const LanguageModel model = LanguageModel::load(m.path);
  check_close(model.score(kLines), expected);
  m.check_converted(expected, parts);
  CHECK(model.tokenizer() != nullptr);
  CHECK(model.vocabulary().size() == kRows + 2);
  CHECK(model.vocabulary().word(kTokens + 2) == "<id_5>");
  CHECK(model.tokenizer()->bytes(kTokens + 2).empty());
  CHECK(word_surprisals(model, kLines)[0].size() == 2);  // rows without token end no word
  CHECK(model.tokenizer()->decode(std::vector<int32_t>{2, kTokens + 2, 3}) == "ab");
  Json wrong = m.config;
  wrong["rope_scaling"] = {{"rope_type", "llama3"}, {"factor", 8}};
  CHECK(has(m.error(wrong, parts), "lacks the key 'low_freq_factor' of the rotary scaling"));
  wrong["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 8}};
  CHECK(has(m.error(wrong, parts), "the key 'rope_type' is 'yarn', and Nine has"));
  wrong["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 0.5}};
  CHECK(has(m.error(wrong, parts), "has the factor 0.5, and a number from 1 to "));
  wrong["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 2}};
  wrong["rope_parameters"] = {{"rope_type", "default"}};
  CHECK(has(m.error(wrong, parts), "'rope_scaling' is linear:2 and 'rope_parameters' is none"));
  wrong = m.config;
  wrong["head_dim"] = 8;
  CHECK(has(m.error(wrong, parts), "the key 'head_dim' is 8, and the tensors have 4"));
  wrong = m.config;
  wrong["num_key_value_heads"] = 2;
  CHECK(has(m.error(wrong, parts), "the key 'num_key_value_heads' is 2, and the tensors have 1"));
  wrong = m.config;
  wrong["rope_parameters"] = {{"rope_theta", 500}, {"factor", 1.0}, {"rope_type", "default"}};
  CHECK(m.error(wrong, parts).empty());
  wrong["rope_parameters"] = {{"factor", 8.0}};  // transformers ignores it and warns
  CHECK(has(m.error(wrong, parts), "'rope_parameters': the key 'factor' is 8"));
  wrong["rope_parameters"] = {{"full_attention", {{"rope_theta", 500}}}};
  CHECK(has(m.error(wrong, parts), "'rope_parameters' has the keys 'full_attention'"));
  wrong["rope_parameters"] = {{"rope_theta", 600}};
  CHECK(has(m.error(wrong, parts), "has two values of 'rope_theta', 500 and 600"));
  for (const char* key : {"vocab_size", "hidden_size", "intermediate_size"}) {
    wrong = m.config;
    wrong[key] = 9;
    CHECK(has(m.error(wrong, parts), key));
  }
  // The type of the model says whether queries and keys have norms, not the tensors.
  wrong = m.config;
  wrong["model_type"] = "llama";
  CHECK(has(m.error(wrong, parts), "Nine does not read the tensor 'layers.0.self_attn.k_norm"));
  auto without = parts;
  without.erase("model.layers.1.self_attn.k_norm.weight");
  CHECK(has(m.error(m.config, without), "lacks the tensor 'layers.1.self_attn.k_norm.weight'"));
  auto mixed = parts;
  mixed["model.layers.0.self_attn.k_proj.weight"] = Tensor({4, kSize}, DType::float32);
  CHECK(has(m.error(m.config, mixed), "are of types float64 and float32: store the model in one"));
  // What tokenizer_config.json and added_tokens.json add must be in the tokenizer.
  const auto with = [&](const char* file, const Json& keys) {
    m.write(m.config, parts);
    m.dir.write(file, keys.dump());
    std::string error = error_of([&] { LanguageModel::load(m.path); });
    std::filesystem::remove(m.dir / file);
    return error;
  };
  const char *const config = "tokenizer_config.json", *const added = "added_tokens.json";
  CHECK(with(config, {{"add_prefix_space", false}, {"additional_special_tokens", {"a", "."}}}) ==
        "");
  CHECK(has(with(config, {{"add_prefix_space", true}}), "puts no space before a text"));
  for (const Json& keys : {Json{{"additional_special_tokens", {"<x>"}}},
                           Json{{"added_tokens_decoder", {{"7", {{"content", "<x>"}}}}}},
                           Json{{"extra_special_tokens", {{"image", "<x>"}}}}})
    CHECK(has(with(config, keys), "adds the token '<x>', and its tokenizer lacks it"));
  CHECK(has(with(added, {{"<x>", 7}}), "adds the token '<x>', and its tokenizer lacks it"));
  // vocab.json and merges.txt do not say how Qwen3 cuts text.
  m.write(m.config, parts);
  std::filesystem::remove(m.dir / "tokenizer.json");
  m.dir.write("vocab.json", R"({"a": 0, "b": 1})");
  m.dir.write("merges.txt", "");
  CHECK(has(error_of([&] { LanguageModel::load(m.path); }), "Write its tokenizer.json"));
}

TEST_CASE("hugging face: equal rows do not change the tokens that begin and end a text") {
  TransformerStyle style = TransformerStyle::gpt2();
  style.activation = Activation::gelu_tanh;
  // The row of the token that begins a text equals the row of a token before it, or of the last.
  for (const auto& tokens :
       {std::tuple(int64_t{3}, int64_t{2}, int64_t{1}), {3, 2, 2}, {2, 2, 0}, {4, 0, 0}}) {
    const int64_t begin = std::get<0>(tokens), end = std::get<1>(tokens),
                  equal = std::get<2>(tokens);
    CAPTURE(begin);
    CAPTURE(equal);
    Model m(style, false, begin, end);
    for (const char* name : {"embedding.weight", "head.weight"}) {
      double* const data = m.tensors.at(name).data<double>();
      std::copy_n(data + (begin + 2) * kSize, kSize, data + (equal + 2) * kSize);
      std::copy_n(data + (end + 2) * kSize, kSize, data);
    }
    std::copy_n(m.tensors.at("embedding.weight").data<double>() + (begin + 2) * kSize, kSize,
                m.tensors.at("embedding.weight").data<double>());
    m.config.update({{"model_type", "gpt2"},
                     {"n_layer", kLayers},
                     {"n_head", kHeads},
                     {"n_embd", kSize},
                     {"n_inner", 12},
                     {"activation_function", "gelu_new"},
                     {"layer_norm_epsilon", 1e-5}});
    const std::map<std::string, Tensor> parts = gpt2_parts(m);
    m.write(m.config, parts);
    m.check_converted(LanguageModel::load(m.path).score(kLines), parts);
  }
}

TEST_CASE("hugging face: the positions that attention sees are those of transformers") {
  TransformerStyle style = TransformerStyle::llama();
  style.kv_heads = 2;
  Model m(style, false, 1, 2);
  std::map<std::string, Tensor> parts{
      {"model.embed_tokens.weight", m.rows_of("embedding.weight")},
      {"lm_head.weight", m.rows_of("head.weight")},
      {"model.norm.weight", m.tensors.at("transformer.norm.weight")}};
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    const std::string from = concat("transformer.layers.", layer, '.'),
                      to = concat("model.layers.", layer, '.');
    const Tensor& maps = m.tensors.at(from + "self_attn.in_proj_weight");
    for (const auto& [name, row] : {std::pair("q", 0), {"k", 8}, {"v", 16}})
      parts[concat(to, "self_attn.", name, "_proj.weight")] = maps.row_range(row, 8).clone();
    for (const auto& [ours, theirs] : {std::pair("norm1", "input_layernorm"),
                                       {"norm2", "post_attention_layernorm"},
                                       {"self_attn.out_proj", "self_attn.o_proj"},
                                       {"linear1", "mlp.gate_proj"},
                                       {"linear3", "mlp.up_proj"},
                                       {"linear2", "mlp.down_proj"}})
      parts[concat(to, theirs, ".weight")] = m.tensors.at(concat(from, ours, ".weight"));
  }
  m.config.update({{"num_hidden_layers", kLayers},
                   {"num_attention_heads", kHeads},
                   {"num_key_value_heads", kHeads},
                   {"hidden_size", kSize},
                   {"head_dim", kSize / kHeads},
                   {"max_position_embeddings", 5000}});
  const auto window = [&](const char* type, const Json& more) {
    Json keys = m.config;
    keys["model_type"] = type;
    keys.update(more);
    auto own = parts;
    if (std::string_view(type) == "qwen3")
      for (int64_t layer = 0; layer < kLayers; ++layer)
        for (const char* norm : {"q_norm", "k_norm"}) {
          Tensor ones({kSize / kHeads}, DType::float64);
          std::fill_n(ones.data<double>(), kSize / kHeads, 1.0);
          own[concat("model.layers.", layer, ".self_attn.", norm, ".weight")] = ones;
        }
    return read_hugging_face("config.json", keys, own, -INFINITY)["bptt"].get<int64_t>();
  };
  CHECK(window("llama", Json{{"sliding_window", 8}}) == 5000);
  CHECK(window("mistral", Json::object()) == 4096);  // transformers' default
  CHECK(window("mistral", Json{{"sliding_window", nullptr}}) == 5000);
  int64_t seen = 0;
  const std::string said = notices_of([&] {
    seen = window("mistral", Json{{"sliding_window", 8}});
  });
  CHECK(seen == 8);
  CHECK_MESSAGE(has(said, "attention sees a window of 8 of 5000 positions"), said);
  CHECK(window("qwen3", Json{{"sliding_window", 8}}) == 5000);
  const Json slides{{"sliding_window", 8}, {"use_sliding_window", true}};
  CHECK(window("qwen3", slides) == 5000);  // max_window_layers: 28 without the key
  Json mixed = slides;
  mixed["max_window_layers"] = 1;
  CHECK(has(error_of([&] { window("qwen3", mixed); }), "'max_window_layers' on, which is 1"));
  Json all = slides;
  all["max_window_layers"] = 0;
  CHECK(window("qwen3", all) == 8);
  all["layer_types"] = {"full_attention", "full_attention"};
  CHECK(window("qwen3", all) == 5000);
  all["layer_types"] = {"full_attention", "sliding_attention"};
  CHECK(has(error_of([&] { window("qwen3", all); }), "one kind of attention for all layers"));
  all["layer_types"] = {"full_attention"};
  CHECK(has(error_of([&] { window("qwen3", all); }), "for each of 2 layers was expected"));
  all["layer_types"] = {"linear_attention", "linear_attention"};
  CHECK(has(error_of([&] { window("qwen3", all); }), "'layer_types' has \"linear_attention\""));
  // transformers refuses the first, and computes the others without the kinds of layers.
  const Json sliding{{"layer_types", {"sliding_attention", "sliding_attention"}}};
  const Json full{{"layer_types", {"full_attention", "full_attention"}}};
  CHECK(has(error_of([&] { window("qwen3", sliding); }), "'layer_types' has "));
  CHECK(has(error_of([&] { window("llama", sliding); }), "'layer_types' has "));
  CHECK(has(error_of([&] { window("mistral", full); }), "'layer_types' has "));
  CHECK(window("llama", full) == 5000);
  CHECK(window("mistral", sliding) == 4096);
  // A missing key has the meaning that transformers gives it for each type.
  const auto without = [&](const char* type, const char* key) {
    Json keys = m.config;
    m.config.erase(key);
    std::string error = error_of([&] { window(type, Json::object()); });
    m.config = keys;
    return error;
  };
  CHECK(has(without("qwen3", "head_dim"), "lacks the key 'head_dim', which then means 128"));
  CHECK(without("llama", "head_dim").empty());
  CHECK(without("mistral", "head_dim").empty());
  CHECK(has(without("mistral", "num_key_value_heads"), "which then means 8"));
  CHECK(has(without("qwen3", "num_key_value_heads"), "which then means 32"));
  CHECK(without("llama", "num_key_value_heads").empty());
}

}  // namespace nine::tests::test_hugging_face
