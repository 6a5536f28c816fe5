// Models that Nine writes for other programs: there and back, and the numbers in the files. Beside
// transformers and llama.cpp: tests/clients/hugging_face.py and tests/clients/llama_cpp.py.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "checks/op_cases.h"
#include "core/half.h"
#include "core/version.h"
#include "nn/models/hugging_face.h"
#include "nn/models/language_model.h"
#include "nn/models/lstm_language_model.h"
#include "nn/models/model_description.h"
#include "nn/models/model_directory.h"
#include "nn/models/plain_transformer.h"
#include "nn/models/read_model.h"
#include "nn/models/write_gguf.h"
#include "nn/models/write_hugging_face.h"
#include "nn/models/write_model.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_written_models {
namespace {

namespace fs = std::filesystem;
using Scores = std::vector<std::vector<double>>;

// Five tokens: a space is Ġ, a line end Ċ.
constexpr const char* kTokenizer = R"({"version": "1.0", "truncation": null, "padding": null,
  "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "ByteLevel",
  "add_prefix_space": false, "trim_offsets": true, "use_regex": true}, "post_processor": null,
  "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
  "use_regex": true}, "model": {"type": "BPE", "dropout": null, "unk_token": null,
  "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false,
  "byte_fallback": false, "ignore_merges": false,
  "vocab": {"a": 0, "b": 1, ".": 2, "Ċ": 3, "Ġ": 4, "ab": 5}, "merges": [["a", "b"]]}})";
constexpr int64_t kTokens = 6, kWithoutToken = 2, kSize = 64;
const std::vector<std::string> kLines{"ab a.\n", "b", "", "aaaa bbbb a\n"};

TransformerLanguageModelConfig small(const TransformerStyle& style, const std::string& head,
                                     bool tied) {
  HeadSettings settings{.head = head, .head_bias = false};
  return {.vocab = 2 + kTokens + kWithoutToken,
          .layers = 2,
          .hidden = kSize,
          .ffn = 96,
          .heads = 4,
          .window = 16,
          .style = style,
          .dropout = 0,
          .tie_embeddings = tied,
          .head = settings.head_config()};
}

// A model of random numbers and its directory.
struct Model {
  explicit Model(const TransformerLanguageModelConfig& c, const std::string& head,
                 bool raw = true) {
    ParameterSet set({.dtype = DType::float32});
    const TransformerLanguageModel network(set, c);
    for (const NamedView& p : set.named(set.values())) {
      const auto values = checks::random_values({{p.view.shape, -0.4, 0.4}}, stream_id(p.name))[0];
      const bool learned = p.name.starts_with("head.scores");  // logarithms: of factors near 1
      std::transform(values.begin(), values.end(), p.view.as<float>(), [&](double x) {
        return static_cast<float>(p.name.ends_with("bias") && p.name.starts_with("head") ? 0
                                  : learned                                              ? 0.3
                                                                                         : x);
      });
    }
    write(set, network.metadata(), head);
    std::vector<std::string> words{"a", "b", ".", "Ċ", "Ġ", "ab", "<id_6>", "<id_7>"};
    if (!raw) words = {"a", "b", ".", "the", "x-y", "\u00a0", "caf\u00e9", "ab"};
    dir.write("dict.txt", Vocabulary::of_list(words, Specials::kLanguageModel).dict_text());
    if (raw) dir.write("tokenizer.json", kTokenizer);
  }
  void write(const ParameterSet& set, std::map<std::string, std::string> network,
             const std::string& head) const {
    auto metadata =
        ModelDescription{.network = std::move(network), .head = {.head = head, .head_bias = false}}
            .metadata();
    metadata[kVersionKey] = kVersion;
    set.save(dir / "model.safetensors", metadata);
  }
  PlainTransformer plain() const { return plain_transformer(read_model(dir.path())); }
  std::string refusal() const {
    return error_of([&] { static_cast<void>(plain()); });
  }
  Scores scores() const { return LanguageModel::load(dir.path()).score(kLines); }

  TemporaryDirectory dir;
};

Scores scores_of_folder(const PlainTransformer& model, WeightType type,
                        const std::vector<std::string>& lines = kLines) {
  const TemporaryDirectory dir;
  write_hugging_face(model, dir.path(), type);
  return LanguageModel::load(dir.path()).score(lines);
}

double largest_difference(const Scores& a, const Scores& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    REQUIRE(a[i].size() == b[i].size());
    for (size_t t = 0; t < a[i].size(); ++t)
      largest = std::max(largest, std::abs(a[i][t] - b[i][t]));
  }
  return largest;
}

TransformerStyle gpt2() {
  TransformerStyle style = TransformerStyle::gpt2();
  style.activation = Activation::gelu_tanh;
  return style;
}
TransformerStyle llama(bool norms = false) {
  TransformerStyle style = TransformerStyle::llama();
  style.kv_heads = 2;
  style.rotary_base = 500;
  style.layer_norm_eps = 1e-3;
  style.qk_norm = norms;
  return style;
}

// What a GGUF file says, read by the letter of its specification.
struct Gguf {
  explicit Gguf(const fs::path& file) : bytes(slurp(file)) {
    CHECK(bytes.substr(0, 4) == "GGUF");
    at = 4;
    CHECK(number<uint32_t>() == 3);
    const auto tensors = number<uint64_t>(), keys = number<uint64_t>();
    for (uint64_t k = 0; k < keys; ++k) {
      const std::string key = text();
      values[key] = value(number<uint32_t>());
    }
    for (uint64_t t = 0; t < tensors; ++t) {
      Entry& entry = entries[text()];
      const auto rank = number<uint32_t>();
      for (uint32_t i = 0; i < rank; ++i)
        entry.sizes.push_back(static_cast<int64_t>(number<uint64_t>()));
      entry.type = number<uint32_t>();
      entry.offset = number<uint64_t>();
      CHECK(entry.offset % 32 == 0);
    }
    data = (at + 31) / 32 * 32;
  }
  template <class T>
  T number() {
    T value{};
    REQUIRE(at + sizeof value <= bytes.size());
    std::memcpy(&value, bytes.data() + at, sizeof value);
    at += sizeof value;
    return value;
  }
  std::string text() {
    const auto size = number<uint64_t>();
    REQUIRE(at + size <= bytes.size());
    at += size;
    return bytes.substr(at - size, size);
  }
  Json value(uint32_t type) {
    if (type == 4) return number<uint32_t>();
    if (type == 5) return number<int32_t>();
    if (type == 6) return number<float>();
    if (type == 7) return number<uint8_t>() == 1;
    if (type == 8) return text();
    REQUIRE(type == 9);
    const auto inner = number<uint32_t>();
    const auto count = number<uint64_t>();
    Json list = Json::array();
    for (uint64_t i = 0; i < count; ++i) list.push_back(value(inner));
    return list;
  }
  struct Entry {
    std::vector<int64_t> sizes;  // the fastest first
    uint32_t type = 0;
    uint64_t offset = 0;
  };
  std::vector<double> tensor(const std::string& name) {
    const Entry& entry = entries.at(name);
    int64_t count = 1;
    for (const int64_t size : entry.sizes) count *= size;
    at = data + entry.offset;
    std::vector<double> out;
    while (std::ssize(out) < count) {
      if (entry.type == 0) out.push_back(number<float>());
      if (entry.type == 1) out.push_back(float_of_half(number<uint16_t>()));
      if (entry.type == 8) {
        const double factor = float_of_half(number<uint16_t>());
        for (int i = 0; i < 32; ++i) out.push_back(factor * number<int8_t>());
      }
    }
    return out;
  }

  std::string bytes;
  size_t at = 0, data = 0;
  std::map<std::string, Json> values;
  std::map<std::string, Entry> entries;
};

}  // namespace

TEST_CASE("written models: Nine to transformers and back gives the same log-probabilities") {
  struct Case {
    TransformerStyle style;
    std::string head;
    bool tied;
    PlainNetwork network;
  };
  TransformerStyle relu = TransformerStyle::gpt2();
  relu.activation = Activation::relu;
  for (const Case& c : {Case{gpt2(), "lin", true, PlainNetwork::gpt2},
                        {relu, "lin:scale=2.5", true, PlainNetwork::gpt2},
                        {gpt2(), "lin:scale=learn", false, PlainNetwork::gpt2},
                        {llama(), "pol:p=1:alpha=-0.5:c=3", true, PlainNetwork::llama},
                        {llama(), "lin", false, PlainNetwork::llama},
                        {llama(true), "lin", true, PlainNetwork::qwen3}}) {
    CAPTURE(c.head);
    for (const std::optional<double> factor : {std::optional<double>(), std::optional(3.0)}) {
      TransformerLanguageModelConfig config = small(c.style, c.head, c.tied);
      config.embed_scale = factor;
      const Model model(config, c.head);
      const PlainTransformer plain = model.plain();
      CHECK(plain.network == c.network);
      CHECK(plain.config.tie_embeddings == (c.tied && c.head == "lin" && !factor));
      CHECK(plain.begin == kTokens);
      CHECK(plain.end == kTokens);
      const Scores expected = model.scores();
      CHECK(largest_difference(expected, scores_of_folder(plain, WeightType::float32)) < 1e-5);
      CHECK(largest_difference(expected, scores_of_folder(plain, WeightType::float16)) < 0.05);
      CHECK(largest_difference(expected, scores_of_folder(plain, WeightType::bfloat16)) < 0.5);
    }
  }
}

TEST_CASE("written models: the tokenizer has tokens for </s> and <unk> behind its own") {
  const Model model(small(gpt2(), "lin", true), "lin");
  const Json tokenizer = parse_json(model.plain().tokenizer);
  REQUIRE(tokenizer["added_tokens"].size() == 2);
  CHECK(tokenizer["added_tokens"][0]["content"] == "</s>");
  CHECK(tokenizer["added_tokens"][0]["id"] == kTokens);
  CHECK(tokenizer["added_tokens"][1]["content"] == "<unk>");
  CHECK(tokenizer["added_tokens"][1]["id"] == kTokens + 1);
  CHECK(tokenizer["post_processor"]["special_tokens"]["</s>"]["ids"][0] == kTokens);
}

TEST_CASE("written models: a model of words gets a tokenizer with the dictionary's ids") {
  const Model model(small(llama(), "lin", true), "lin", false);
  const PlainTransformer plain = model.plain();
  const Json tokenizer = parse_json(plain.tokenizer);
  CHECK(tokenizer["model"]["type"] == "WordLevel");
  CHECK(tokenizer["model"]["vocab"]["the"] == 5);
  CHECK(plain.begin == 0);
  // Nine's own scores end with that of </s>, which raw text does not have.
  const std::vector<std::string> lines{"the  a \u00a0 b", "x-y caf\u00e9\tqq ."};
  Scores expected = LanguageModel::load(model.dir.path()).score(lines);
  for (std::vector<double>& line : expected) line.pop_back();
  CHECK(largest_difference(expected, scores_of_folder(plain, WeightType::float32, lines)) < 1e-5);
  std::string other = slurp(model.dir / "dict.txt");
  model.dir.write("dict.txt", other.replace(other.find("x-y"), 3, "x</s>"));
  CHECK(has(model.refusal(), "the word 'x</s>' contains </s>, which other programs cut out"));
  std::string repeated = slurp(model.dir / "dict.txt");
  repeated.replace(repeated.find("ab "), 3, "a ");
  repeated.insert(repeated.rfind('\n'), " #fairseq:overwrite");
  model.dir.write("dict.txt", repeated);
  const std::string error = model.refusal();
  CHECK_MESSAGE(has(error, "the word 'a' is twice in the dictionary, with the ids 2 and 9"), error);
}

TEST_CASE("written models: what other programs do not have is refused with the reason") {
  const auto refusal = [](TransformerStyle style, const std::string& head) {
    return Model(small(style, head, false), head).refusal();
  };
  CHECK(has(refusal(gpt2(), "log:p=1"), "other scores than inner products"));
  CHECK(has(refusal(gpt2(), "pol:p=2"), "train the head lin, or pol:p=1, on this body"));
  CHECK(has(refusal(gpt2(), "mix:2*lin"), "a mixture"));
  TransformerStyle style = gpt2();
  style.positions = Positions::sinusoidal;
  CHECK(has(refusal(style, "lin"), "positions 'sinusoidal' where 'learned' is needed"));
  style = gpt2();
  style.norm = NormOrder::post;
  CHECK(has(refusal(style, "lin"), "for GPT-2's it has norm order 'post'"));
  style = llama();
  style.activation = Activation::geglu;
  CHECK(has(refusal(style, "lin"), "for Llama's it has activation 'geglu'"));

  TransformerLanguageModelConfig config = small(gpt2(), "lin", true);
  config.head.bias = true;
  const Model biased(config, "lin");
  Safetensors file = read_safetensors(biased.dir / "model.safetensors");
  const auto with_bias = [&](int64_t word, float bias) {
    Tensor& all = file.tensors["head.bias"];
    all.data<float>()[word] = bias;
    std::vector<NamedView> views;
    for (const auto& [name, tensor] : file.tensors) views.push_back({name, tensor});
    write_safetensors(biased.dir / "model.safetensors", views, file.metadata);
    return biased.refusal();
  };
  CHECK(with_bias(3, 0) == "");  // a bias that is the same for all words cancels
  CHECK(with_bias(1, -INFINITY) == "");
  CHECK(biased.plain().config.vocab == config.vocab - 1);  // without <unk>
  // An excluded word of the user is no token whose place </s> has taken.
  CHECK(has(with_bias(4, -INFINITY), "a bias excludes the word 4"));
  CHECK(with_bias(4, kExclusionInTraining) == "");
  CHECK(biased.plain().end == 2);  // </s> has taken the place of the excluded token
  CHECK(has(with_bias(5, -INFINITY), "a bias excludes 3 words of the model"));
  CHECK(has(with_bias(3, 0.5F), "the head has an output bias"));
}

TEST_CASE("written models: float16 is rounded to the nearest, ties to even") {
  for (uint32_t half = 0; half < 0x7c00; ++half) {
    const float x = float_of_half(static_cast<uint16_t>(half)),
                next = float_of_half(static_cast<uint16_t>(half + 1));
    REQUIRE(half_of_float(x) == half);
    REQUIRE(half_of_float(-x) == (half | 0x8000u));
    if (half + 1 == 0x7c00) break;
    const float middle = x + (next - x) / 2;
    REQUIRE(half_of_float(middle) == half + half % 2);
    REQUIRE(half_of_float(std::nextafter(middle, 0.0F)) == half);
    REQUIRE(half_of_float(std::nextafter(middle, INFINITY)) == half + 1);
  }
  CHECK(half_of_float(65519.996F) == 0x7bff);
  CHECK(half_of_float(65520) == 0x7c00);
  CHECK(half_of_float(INFINITY) == 0x7c00);
  CHECK(half_of_float(-1e30F) == 0xfc00);
  CHECK(std::isnan(float_of_half(half_of_float(NAN))));
  const TemporaryDirectory dir;
  const Tensor large = Tensor::from<float>({1, 70000, 2}, {3});
  const std::string error = error_of([&] {
    write_half_safetensors(dir / "x.safetensors", {{"large", large}});
  });
  CHECK(has(error, "tensor 'large' has 70000, and float16 ends at 65504"));
}

TEST_CASE("written models: a matrix that its type would round away is an error") {
  const Model model(small(gpt2(), "lin", true), "lin");
  const PlainTransformer plain = model.plain();
  const Tensor& words = plain.tensors.at("embedding.weight");
  for (int64_t i = 0; i < words.elements(); ++i) words.data<float>()[i] *= 1e-8F;
  const TemporaryDirectory dir;
  const auto hugging_face = [&](WeightType type) {
    return error_of([&] { write_hugging_face(plain, dir.path(), type); });
  };
  CHECK(has(hugging_face(WeightType::float16), "tensor 'transformer.wte.weight' has no number "));
  CHECK(has(hugging_face(WeightType::float16), "float16 has few digits or none for numbers below"));
  CHECK(hugging_face(WeightType::float32).empty());
  CHECK(hugging_face(WeightType::bfloat16).empty());
  for (const WeightType type : {WeightType::float16, WeightType::q8_0})
    CHECK(has(error_of([&] { write_gguf(plain, dir / "x.gguf", type); }), "has no number beyond"));
}

TEST_CASE("written models: a number that its type does not hold is an error") {
  const Model model(small(gpt2(), "lin", true), "lin");
  ModelFiles files = read_model(model.dir.path());
  Tensor& norm = files.weights.tensors.at("transformer.norm.weight");
  std::vector<double> numbers = norm.to_vector();
  numbers[3] = 1e39;
  norm = Tensor::from<double>(numbers, {kSize});
  CHECK(has(error_of([&] { static_cast<void>(plain_transformer(std::move(files))); }),
            "the tensor 'transformer.norm.weight' has a number beyond 3.4e38"));
  const PlainTransformer plain = model.plain();
  plain.tensors.at("transformer.norm.weight").data<float>()[3] = 3.4e38F;
  const TemporaryDirectory dir;
  CHECK(has(error_of([&] { write_hugging_face(plain, dir.path(), WeightType::bfloat16); }),
            "tensor 'transformer.ln_f.weight' has a number beyond 3.39e38"));
  CHECK(error_of([&] { write_hugging_face(plain, dir.path(), WeightType::float32); }) == "");
  // GGUF keeps vectors in float32.
  plain.tensors.at("embedding.weight").data<float>()[3] = -3.4e38F;
  CHECK(has(error_of([&] { write_gguf(plain, dir / "x.gguf", WeightType::bfloat16); }),
            "and bfloat16 ends at 3.39e38"));
}

TEST_CASE("written models: GGUF has the numbers of the model") {
  const Model model(small(gpt2(), "lin", true), "lin");
  const PlainTransformer plain = model.plain();
  const std::string file = model.dir / "model.gguf";
  for (const WeightType type : {WeightType::float32, WeightType::float16, WeightType::q8_0}) {
    CAPTURE(to_text(type));
    write_gguf(plain, file, type);
    Gguf gguf(file);
    CHECK(gguf.values["general.architecture"] == "gpt2");
    CHECK(gguf.values["gpt2.block_count"] == 2);
    CHECK(gguf.values["gpt2.feed_forward_length"] == 96);
    CHECK(gguf.values["tokenizer.ggml.bos_token_id"] == kTokens);
    CHECK(gguf.values["tokenizer.ggml.tokens"] ==
          Json{"a", "b", ".", "Ċ", "Ġ", "ab", "</s>", "<unk>", "[PAD8]", "[PAD9]"});
    CHECK(gguf.values["tokenizer.ggml.token_type"] == Json{1, 1, 1, 1, 1, 1, 3, 3, 5, 5});
    CHECK(gguf.values["tokenizer.ggml.merges"] == Json::array({"a b"}));
    CHECK(gguf.entries.at("blk.1.ffn_up.weight").sizes == std::vector<int64_t>{kSize, 96});
    CHECK_FALSE(gguf.entries.contains("output.weight"));  // tied
    for (const auto& [theirs, ours] :
         {std::pair("token_embd.weight", "embedding.weight"),
          {"blk.1.attn_qkv.weight", "transformer.layers.1.self_attn.in_proj_weight"},
          {"blk.0.ffn_down.bias", "transformer.layers.0.linear2.bias"},
          {"position_embd.weight", "positions.weight"}}) {
      const std::string name = theirs;
      CAPTURE(name);
      const std::vector<double> is = gguf.tensor(name), must = plain.tensors.at(ours).to_vector();
      REQUIRE(is.size() == must.size());
      const bool exact = type == WeightType::float32 || gguf.entries.at(name).type == 0;
      // Numbers are below 0.4: half a unit of float16; half a step of 0.4 / 127, whose factor is
      // rounded to float16.
      const double limit = exact ? 0 : type == WeightType::float16 ? 0x1p-13 : 0.4 / 127 * 0.57;
      for (size_t i = 0; i < is.size(); ++i) REQUIRE(std::abs(is[i] - must[i]) <= limit);
    }
  }
}

TEST_CASE("written models: scaled rotary angles come back from a folder and stand in GGUF") {
  TransformerStyle style = llama();
  style.rotary_base = 30;
  const Scores unscaled = Model(small(style, "lin", true), "lin").scores();
  for (const char* text : {"linear:4", "llama3:factor=8,low=1,high=4,length=16"}) {
    CAPTURE(text);
    style.rotary_scaling = RotaryScaling::from_text(text);
    const Model model(small(style, "lin", true), "lin");
    CHECK(largest_difference(model.scores(), unscaled) > 1e-4);
    const PlainTransformer plain = model.plain();
    CHECK(largest_difference(model.scores(), scores_of_folder(plain, WeightType::float32)) < 1e-5);
    const std::string file = model.dir / "model.gguf";
    write_gguf(plain, file, WeightType::float32);
    Gguf gguf(file);
    const bool linear = style.rotary_scaling.kind == RotaryScalingKind::linear;
    CHECK(gguf.values.contains("llama.rope.scaling.type") == linear);
    CHECK(gguf.entries.contains("rope_freqs.weight") != linear);
    if (linear) {
      CHECK(gguf.values["llama.rope.scaling.type"] == "linear");
      CHECK(gguf.values["llama.rope.scaling.factor"] == 4);
      continue;
    }
    const std::vector<double> divisors = gguf.tensor("rope_freqs.weight");
    const int64_t half = plain.config.hidden / plain.config.heads / 2;
    REQUIRE(std::ssize(divisors) == half);
    for (int64_t i = 0; i < half; ++i) {
      // Divided by 8 if a turn takes more than 16 positions, not at all below 4.
      const double turn = 2 * std::acos(-1.0) *
                          std::pow(30.0, static_cast<double>(i) / static_cast<double>(half)),
                   share = std::clamp((16 / turn - 1) / 3, 0.0, 1.0);
      CHECK(1 / divisors[static_cast<size_t>(i)] == doctest::Approx((1 - share) / 8 + share));
    }
    style.qk_norm = true;
    const PlainTransformer qwen3 = Model(small(style, "lin", true), "lin").plain();
    CHECK(has(error_of([&] { write_gguf(qwen3, file, WeightType::float32); }),
              "llama.cpp has the rotary scaling llama3 in llama alone"));
    style.qk_norm = false;
  }
}

TEST_CASE("written models: GGUF refuses what llama.cpp computes otherwise") {
  const auto refusal = [](const PlainTransformer& plain) {
    const TemporaryDirectory dir;
    return error_of([&] { write_gguf(plain, dir / "x.gguf", WeightType::float32); });
  };
  CHECK(has(refusal(Model(small(TransformerStyle::gpt2(), "lin", true), "lin").plain()),
            "llama.cpp computes the activation gelu-tanh in gpt2, and the model has gelu"));
  CHECK(has(refusal(Model(small(llama(), "lin", true), "lin", false).plain()),
            "a GGUF file has tokenizers of byte pairs, and the model's is \"WordLevel\""));
  PlainTransformer plain = Model(small(llama(), "lin", true), "lin").plain();
  CHECK(refusal(plain) == "");
  Json tokenizer = parse_json(plain.tokenizer);
  tokenizer["normalizer"] = {{"type", "NFC"}};
  plain.tokenizer = tokenizer.dump();
  CHECK(has(refusal(plain), "llama.cpp does not normalise text"));
  tokenizer["normalizer"] = nullptr;
  tokenizer["model"]["ignore_merges"] = true;
  plain.tokenizer = tokenizer.dump();
  CHECK(has(refusal(plain), "(ignore_merges) only with the split of llama3"));
  tokenizer["model"]["ignore_merges"] = false;
  tokenizer["added_tokens"][0]["lstrip"] = true;
  plain.tokenizer = tokenizer.dump();
  CHECK(has(refusal(plain), "llama.cpp does not have the rule 'lstrip' of the token '</s>'"));
  tokenizer["added_tokens"][0]["lstrip"] = false;
  tokenizer["pre_tokenizer"]["add_prefix_space"] = true;
  plain.tokenizer = tokenizer.dump();
  CHECK(has(refusal(plain), "llama.cpp does not have the pre-tokeniser"));
}

}  // namespace nine::tests::test_written_models
