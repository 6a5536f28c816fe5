// Models that other programs wrote (docs/pytorch.md): what must be said of them, what is assumed,
// and how their files may lie. Beside PyTorch: tests/clients/transformer_lm_pytorch.py and
// translation_pytorch.py.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <tuple>

#include "checks/op_cases.h"
#include "core/notice.h"
#include "core/safetensors.h"
#include "nn/models/beam_search.h"
#include "nn/models/initial_weights.h"
#include "nn/models/language_model.h"
#include "nn/models/lstm_language_model.h"
#include "nn/models/model_directory.h"
#include "nn/models/transformer_language_model.h"
#include "nn/models/translator.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_foreign_models {
namespace {

using Doubles = std::vector<double>;
using Strings = std::vector<std::string>;
namespace fs = std::filesystem;

// Notices that are given while it lives.
struct Notices {
  Notices() {
    set_notices([this](const std::string& text) { all.push_back(text); });
  }
  ~Notices() {
    set_notices([](const std::string&) {});
  }
  Strings all;
};

// Values far from the start, so that every part counts.
void scatter(ParameterSet& set) {
  for (const NamedView& p : set.named(set.values())) {
    const Doubles values = checks::random_values({{p.view.shape, -0.6, 0.6}}, stream_id(p.name))[0];
    for (size_t i = 0; i < values.size(); ++i)
      p.view.as<float>()[i] = static_cast<float>(values[i]);
  }
}

// The tensors of a set under names with `prefix`, which write_safetensors can write.
std::vector<NamedView> tensors_of(const ParameterSet& set, const std::string& prefix = {}) {
  return set.named(set.values(), prefix);
}

// The upper bits of a float32 as a float16: it is cut, and what is below its range is 0.
uint16_t half_of(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const int exponent = static_cast<int>((bits >> 23) & 0xff) - 127 + 15;
  const uint32_t sign = (bits >> 16) & 0x8000u;
  if (exponent <= 0) return static_cast<uint16_t>(sign);
  return static_cast<uint16_t>(sign | static_cast<uint32_t>(exponent) << 10 |
                               ((bits >> 13) & 0x3ffu));
}

// A file of float16 or bfloat16, which the library reads and does not write.
void write_16_bits(const std::string& file, const std::vector<NamedView>& tensors, bool brain) {
  Json header = Json::object();
  std::string data;
  for (const NamedView& t : tensors) {
    const size_t begin = data.size();
    const auto* values = t.view.as<float>();
    for (int64_t i = 0; i < t.view.elements(); ++i) {
      const uint16_t bits = brain ? bfloat16(values[i]).bits : half_of(values[i]);
      data.append({static_cast<char>(bits & 0xff), static_cast<char>(bits >> 8)});
    }
    Json shape = Json::array();
    for (int d = 0; d < t.view.shape.rank(); ++d) shape.push_back(t.view.shape[d]);
    header[t.name] = {{"dtype", brain ? "BF16" : "F16"},
                      {"shape", shape},
                      {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t size = text.size();
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&size), 8);
  out << text << data;
}

constexpr const char* kWords = "the 5\ncat 4\nsaw 3\na 2\ndog 1\n";  // and </s>, <unk>
const Strings kLines{"the cat saw a dog", "", "dog the"};

// A language model of PyTorch's defaults, in memory and, as write() has it, in a directory.
struct Foreign {
  static TransformerLanguageModelConfig config() {
    return {.vocab = 7,
            .layers = 2,
            .hidden = 8,
            .ffn = 12,
            .heads = 2,
            .window = 9,
            .style = {.positions = Positions::learned},
            .dropout = 0,
            .head = {.bias = true},
            .final_norm = true};
  }
  explicit Foreign(const TransformerLanguageModelConfig& c = config()) : network(set, c) {
    scatter(set);
    dir.write("dict.txt", kWords);
  }
  // log p of each word of kLines and </s>.
  std::vector<Doubles> expected() const {
    std::vector<Doubles> all;
    for (const auto& words :
         {std::vector<int32_t>{2, 3, 4, 5, 6}, std::vector<int32_t>{}, {6, 2}}) {
      std::vector<int32_t> read{0}, next = words;
      read.insert(read.end(), words.begin(), words.end());
      next.push_back(0);
      Arena arena("test");
      Tape tape(arena);
      const NoGrad guard(tape);
      std::vector<LstmState> state;
      const Doubles log_p = network
                                .log_probabilities(network.encode(
                                    tape, Tensor::from(read, {std::ssize(read), 1}), state))
                                .to_vector();
      Doubles& line = all.emplace_back();
      for (size_t t = 0; t < next.size(); ++t)
        line.push_back(log_p[t * 7 + static_cast<size_t>(next[t])]);
    }
    return all;
  }
  void say(const std::string& config) const { dir.write("config.json", config); }

  TemporaryDirectory dir;
  std::string path = dir.path().string(), weights = dir / "model.safetensors";
  ParameterSet set;
  TransformerLanguageModel network;
};

void check_close(const std::vector<Doubles>& found, const std::vector<Doubles>& expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    REQUIRE(found[i].size() == expected[i].size());
    for (size_t t = 0; t < found[i].size(); ++t)
      CHECK(found[i][t] == doctest::Approx(expected[i][t]).epsilon(1e-6));
  }
}

constexpr const char* kSaid = R"({"heads": 2, "norm": "post", "activation": "relu"})";

// A translation model with its table of positions.
struct ForeignTranslation {
  static TransformerConfig config() {
    return {.src_vocab = 7,
            .tgt_vocab = 6,
            .encoder_layers = 1,
            .decoder_layers = 2,
            .dim = 8,
            .ffn = 10,
            .heads = 2,
            .dropout = 0,
            .tie_embeddings = false,
            .max_length = 9,
            .final_norms = true};
  }
  explicit ForeignTranslation(const TransformerConfig& c = config()) : network(set, c) {
    scatter(set);
    dir.write("src.dict.txt", "der 3\nhund 2\n. 1\n");
    dir.write("tgt.dict.txt", "dog 2\nthe 1\n");
    dir.write("config.json", R"({"heads": 2, "norm": "post"})");
  }
  std::vector<NamedView> tensors(const char* positions) const {
    std::vector<NamedView> all = tensors_of(set);
    if (positions != nullptr) all.push_back({positions, network.positions()});
    return all;
  }
  std::vector<Doubles> expected() const {
    const std::vector<BeamSearch::Ids> sources{{4, 5, 6}, {6}}, targets{{5, 4}, {}};
    return BeamSearch(network).score(sources, targets);
  }
  std::vector<Doubles> scores() const {
    return Translator::load(path).score({"der hund .", "."}, {"the dog", ""});
  }

  TemporaryDirectory dir;
  std::string path = dir.path().string(), weights = dir / "model.safetensors";
  ParameterSet set;
  Transformer network;
};

}  // namespace

TEST_CASE("foreign: what tensors of a language model do not show must be said") {
  const Notices notices;
  const Foreign f;
  write_safetensors(f.weights, tensors_of(f.set));
  const auto says = [&] { return error_of([&] { LanguageModel::load(f.path); }); };
  CHECK(has(says(), f.path + " has no config.json, and nothing else says \"heads\", \"norm\" and "
                             "\"activation\", which tensors do not show"));
  CHECK(has(says(), R"({"heads": N, "norm": "post", "activation": "relu"})"));
  f.say(R"({"heads": 2})");
  CHECK(has(says(), "config.json lacks \"norm\" and \"activation\""));
  // What another program calls its architecture does not make the model ours.
  write_safetensors(f.weights, tensors_of(f.set), {{"arch", "mymodel"}});
  CHECK(has(says(), "config.json lacks \"norm\" and \"activation\""));
  write_safetensors(f.weights, tensors_of(f.set));
  f.say(R"({"heads": 2, "norm": "behind", "activation": "relu"})");
  CHECK(has(says(), "config.json: the key 'norm': norm order 'behind' is not one of post, pre"));
  f.say(R"({"heads": 2, "norm": "post", "activation": "relu", "layer_norm_eps": -1e-6})");
  CHECK(has(says(), "config.json: the key 'layer_norm_eps' is -1e-06, which is not above 0"));
  for (const char* heads : {"0", "-2", "2.5", "16.0", "\"two\"", "null"}) {
    f.say(concat(R"({"norm": "post", "activation": "relu", "heads": )", heads, "}"));
    CHECK(has(says(), concat("config.json: the key 'heads' is ", heads,
                             ", and a whole number from 1 on was expected")));
  }
  f.say(R"({"heads": 2, "norm": "post", "activation": "relu", "head": "lean"})");
  CHECK(has(says(), "config.json: no kernel is called 'lean'"));
  f.say(R"({"heads": 2, "norm": "post", "activation": "relu", "bptt": 8})");
  CHECK(has(says(), "the key 'bptt' is 8, but the tensor positions.weight has 9 rows"));
  f.say(R"({"heads": 2, "norm": "post", "activation": "relu", "embed_scale": "much"})");
  CHECK(has(says(),
            "config.json: the key 'embed_scale' is \"much\", and a number was "
            "expected"));
  f.say(R"({"heads": 2, "norm": "post", "activation": "relu", "embed_scale": 1e-46})");
  CHECK(has(says(), "config.json: the key 'embed_scale' is 1e-46, which is 0 in float32"));
  f.say(R"({"heads": 2, "norm": "post", "activation": "relu", "embed_scale": 1e39})");
  CHECK(has(says(), "which is infinite in float32"));
  CHECK(notices.all.empty());
  f.say(kSaid);
  check_close(LanguageModel::load(f.path).score(kLines), f.expected());
  // Each assumption is said, once, as config.json would have it.
  LanguageModel::load(f.path);
  REQUIRE(notices.all.size() == 1);
  CHECK(has(notices.all[0], f.path));
  CHECK(has(notices.all[0], R"({"head":"lin","layer_norm_eps":1e-05,"embed_scale":1.0})"));
  f.say(R"({"heads": 2, "norm": "post", "activation": "relu", "head": "lin", "embed_scale": 1,
            "layer_norm_eps": 1e-5})");
  LanguageModel::load(f.path);
  CHECK(notices.all.size() == 1);
  // Hugging Face's names of the key say it too.
  for (const char* name : {"rms_norm_eps", "layer_norm_epsilon"}) {
    f.say(concat(R"({"heads": 2, "norm": "post", "activation": "relu", ")", name, R"(": 1e-6})"));
    LanguageModel::load(f.path);
    CHECK(std::ranges::any_of(notices.all, [&](const std::string& said) {
      return has(said, concat("the key '", name, "' is read as 'layer_norm_eps'"));
    }));
  }
}

TEST_CASE("foreign: embed_scale is honoured, sinusoidal positions and their window are said") {
  const Notices notices;
  TransformerLanguageModelConfig c = Foreign::config();
  SUBCASE("embed_scale") {
    c.embed_scale = 2.5;
    const Foreign f(c);
    write_safetensors(f.weights, tensors_of(f.set));
    f.say(R"({"heads": 2, "norm": "post", "activation": "relu", "embed_scale": 2.5})");
    check_close(LanguageModel::load(f.path).score(kLines), f.expected());
  }
  SUBCASE("positions") {
    c.style.positions = Positions::sinusoidal;
    const Foreign f(c);
    write_safetensors(f.weights, tensors_of(f.set));
    f.say(kSaid);
    CHECK(has(error_of([&] { LanguageModel::load(f.path); }),
              "config.json lacks \"positions\" and \"bptt\""));
    CHECK(
        has(error_of([&] { LanguageModel::load(f.path); }),
            "of PyTorch's defaults it has {\"heads\": N, \"norm\": \"post\", \"activation\": "
            "\"relu\"}, and norm_first=True is \"norm\": \"pre\"; PyTorch adds no positions: of a "
            "model that adds Nine's formula say \"positions\": \"sinusoidal\" and \"bptt\": T"));
    f.say(R"({"heads": 2, "norm": "post", "activation": "relu", "positions": "sinusoidal",
              "bptt": 9})");
    check_close(LanguageModel::load(f.path).score(kLines), f.expected());
    CHECK(has(notices.all.back(), "\"embed_scale\":2.8284271247461903"));
  }
}

TEST_CASE("foreign: layers of a Llama's shape") {
  const Notices notices;
  TransformerLanguageModelConfig c = Foreign::config();
  c.style = TransformerStyle::llama();
  c.style.kv_heads = 1;
  c.style.qk_norm = true;
  c.style.rotary_base = 700;
  const Foreign f(c);
  write_safetensors(f.weights, tensors_of(f.set));
  const auto says = [&](const std::string& more) {
    f.say(concat(R"({"heads": 2, "norm": "pre", "activation": "swiglu", "positions": "rotary",)",
                 R"("bptt": 9, "rotary_base": 700)", more, "}"));
    return error_of([&] { LanguageModel::load(f.path); });
  };
  CHECK(has(says(""), "config.json lacks \"norm_type\""));
  CHECK(has(says(""), "of layer norms with bias=False store biases of zeros"));
  CHECK(has(says(R"(, "norm_type": "rms", "rope_scaling": {"factor": 8})"),
            "the key 'rope_scaling' is {\"factor\":8}, but Nine rotates"));
  for (const char* key : {"partial_rotary_factor", "rotary_pct"}) {
    CHECK(has(says(concat(R"(, "norm_type": "rms", ")", key, R"(": 0.25)")), "but Nine rotates"));
    CHECK(says(concat(R"(, "norm_type": "rms", ")", key, R"(": 1.0)")) == "");
  }
  CHECK(has(says(R"(, "norm_type": "rms", "rotary_dim": 2)"), "but Nine rotates"));
  CHECK(says(R"(, "norm_type": "rms", "rope_scaling": null)") == "");
  CHECK(says(R"(, "norm_type": "rms")") == "");
  check_close(LanguageModel::load(f.path).score(kLines), f.expected());
  // Keys that tensors show may be said, and must be right.
  CHECK(says(R"(, "norm_type": "rms", "kv_heads": 1, "qk_norm": true, "linear_bias": false)") ==
        "");
  CHECK(has(says(R"(, "norm_type": "rms", "kv_heads": 2)"),
            "the key 'kv_heads' is 2, but the tensor "
            "transformer.layers.0.self_attn.in_proj_weight has the keys of 1 heads"));
  CHECK(has(says(R"(, "norm_type": "rms", "qk_norm": false)"),
            "the key 'qk_norm' is false, but there is a tensor "
            "transformer.layers.0.self_attn.q_norm.weight"));
  CHECK(has(says(R"(, "norm_type": "rms", "linear_bias": true)"),
            "the key 'linear_bias' is true, but there is no tensor "
            "transformer.layers.0.linear1.bias"));
  // Hugging Face's name of the base.
  f.say(R"({"heads": 2, "norm": "pre", "activation": "swiglu", "norm_type": "rms",
            "positions": "rotary", "bptt": 9, "rope_theta": 700})");
  check_close(LanguageModel::load(f.path).score(kLines), f.expected());
  f.say(R"({"heads": 2, "norm": "pre", "activation": "swiglu", "norm_type": "rms",
            "positions": "learned", "bptt": 9})");
  CHECK(has(error_of([&] { LanguageModel::load(f.path); }),
            "the key 'positions' is \"learned\", but there is no tensor positions.weight"));
}

TEST_CASE("foreign: the key of the norms must have the biases that are there") {
  const Notices notices;
  const Foreign f;
  write_safetensors(f.weights, tensors_of(f.set));
  const auto says = [&](const char* type) {
    f.say(concat(R"({"heads": 2, "norm": "post", "activation": "relu", "norm_type": ")", type,
                 "\"}"));
    return error_of([&] { LanguageModel::load(f.path); });
  };
  CHECK(says("layer") == "");
  CHECK(has(says("rms"),
            "the key 'norm_type' is rms, but there is a tensor "
            "transformer.layers.0.norm1.bias, which means layer"));
  CHECK(has(says("batch"), "norm_type"));
}

TEST_CASE("foreign: prefixes of PyTorch's wrappers, bfloat16, float16 and shards") {
  const Notices notices;
  const Foreign f;
  f.say(kSaid);
  const auto scores = [&] { return LanguageModel::load(f.path).score(kLines); };
  SUBCASE("prefixes") {
    for (const char* prefix : {"module.", "_orig_mod.", "module._orig_mod."}) {
      write_safetensors(f.weights, tensors_of(f.set, prefix));
      check_close(scores(), f.expected());
    }
    std::vector<NamedView> twice = tensors_of(f.set);
    twice.push_back({"module.head.bias", twice.back().view});
    write_safetensors(f.weights, twice);
    CHECK(has(error_of(scores), "two tensors are called 'head.bias'"));
  }
  SUBCASE("what all names begin with") {
    for (const std::string prefix : {"model.", "net.", "encoder.model.", "module.lm."}) {
      write_safetensors(f.weights, tensors_of(f.set, prefix));
      check_close(scores(), f.expected());
      const std::string beginning = prefix.starts_with("module.") ? "lm." : prefix;
      REQUIRE(notices.all.size() > 1);
      CHECK_MESSAGE(has(notices.all[notices.all.size() - (prefix == "model." ? 2 : 1)],
                        f.path + ": the names of all tensors begin with '" + beginning +
                            "', which is left out"),
                    prefix);
    }
    std::vector<NamedView> more = tensors_of(f.set, "model.");
    more.push_back({"criterion.weight", more.back().view});
    write_safetensors(f.weights, more);
    CHECK(has(error_of(scores),
              "there is no tensor 'embedding.weight'; there are: criterion.weight"));
  }
  SUBCASE("sixteen bits") {
    for (const bool brain : {true, false}) {
      write_16_bits(f.weights, tensors_of(f.set), brain);
      const auto found = scores();
      // The same as those of the rounded weights in float32.
      const Foreign rounded;
      for (const NamedView& p : tensors_of(rounded.set))
        for (int64_t i = 0; i < p.view.elements(); ++i) {
          float& x = p.view.as<float>()[i];
          const uint16_t bits = half_of(x);
          if (brain) {
            x = static_cast<float>(bfloat16(x));
          } else if ((bits & 0x7c00) == 0) {
            x = 0;
          } else {
            x = std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0xffffe000u);
          }
        }
      check_close(found, rounded.expected());
    }
  }
  SUBCASE("shards") {
    const std::vector<NamedView> all = tensors_of(f.set);
    const std::vector<NamedView> parts[] = {{all.begin(), all.begin() + 9},
                                            {all.begin() + 9, all.end()}};
    Json map = Json::object();
    for (const int part : {0, 1}) {
      const std::string name = concat("model-0000", part + 1, "-of-00002.safetensors");
      write_safetensors(f.dir / name, parts[part]);
      for (const NamedView& t : parts[part]) map[t.name] = name;
    }
    const auto index = [&](const Json& weight_map) {
      f.dir.write("model.safetensors.index.json",
                  Json{{"metadata", {{"total_size", 1}}}, {"weight_map", weight_map}}.dump());
    };
    index(map);
    check_close(scores(), f.expected());
    Json other = map;
    other.erase("head.bias");
    index(other);
    CHECK(has(error_of(scores), "holds a tensor 'head.bias', but "));
    other = map;
    other["head.more"] = "model-00001-of-00002.safetensors";
    index(other);
    CHECK(has(error_of(scores), "lacks the tensor 'head.more', but "));
    for (const char* file : {"../model.safetensors", "model.bin", ""}) {
      other = map;
      other["head.bias"] = file;
      index(other);
      CHECK(has(error_of(scores), "is not the name of a .safetensors file beside it"));
    }
    index(Json::array());
    CHECK(has(error_of(scores), "lacks the object 'weight_map'"));
    index(map);
    fs::remove(f.dir / "model-00002-of-00002.safetensors");
    CHECK(has(error_of(scores), "model-00002-of-00002.safetensors"));
  }
}

TEST_CASE("foreign: config.json and the weights' metadata say the same, or it is an error") {
  const Notices notices;
  const Foreign f;
  f.say(kSaid);
  const auto says = [&](const std::map<std::string, std::string>& metadata) {
    write_safetensors(f.weights, tensors_of(f.set), metadata);
    return error_of([&] { LanguageModel::load(f.path); });
  };
  CHECK(says({{"heads", "2"}, {"norm", "post"}, {"activation", "relu"}, {"head", "lin"}}) == "");
  const std::string config = f.dir / "config.json";
  CHECK(has(says({{"heads", "4"}}), config +
                                        ": the key 'heads' is 2, but \"4\" in the metadata of " +
                                        f.weights + "; correct one of them"));
  CHECK(
      has(says({{"norm", "pre"}}), "the key 'norm' is \"post\", but \"pre\" in the metadata of "));
  CHECK(has(says({{"activation", "gelu"}}), "the key 'activation' is \"relu\", but \"gelu\" in "));
  // What Nine leaves out of its metadata means its usual value.
  CHECK(has(says({{"nine_version", "1"}, {"arch", "transformer"}, {"head", "lin"}}),
            "the key 'norm' is \"post\", but the metadata of " + f.weights +
                ", which Nine wrote, mean \"pre\" by leaving it out"));
  f.say(
      R"({"heads": 2, "norm": "post", "activation": "relu", "head": "mix2", "embed_scale": 2.50})");
  CHECK(has(says({{"head", "lin"}}), "the key 'head' is \"mix2\", but \"lin\" in the metadata"));
  CHECK(has(says({{"head", "mix2"}, {"embed_scale", "3"}}), "the key 'embed_scale' is 2.5, but "));
  // The same head and number in other words.
  const std::string other =
      says({{"head", parse_head("mix2").to_text()}, {"embed_scale", "2.500"}});
  CHECK_MESSAGE(!has(other, "the metadata"), other);
  f.say(R"({"heads": 2, "norm": "post", "activation": "relu", "word_norm": "unit"})");
  CHECK(has(says({{"nine_version", "1"}, {"arch", "transformer"}, {"norm", "post"}}),
            "the key 'word_norm' is \"unit\", but "));
  f.say(R"({"heads": 2, "norm": "post", "activation": "relu", "head": 5})");
  CHECK(has(says({{"head", "lin"}}), config + ": the key 'head' is 5, but \"lin\" in the "));
  CHECK(has(says({}), config + ": the key 'head' is 5, and a text was expected"));
  f.say(R"({"heads": 2, "norm": "post", "activation": "relu", "untied": "maybe"})");
  CHECK(has(says({}), config + ": the key 'untied' is \"maybe\", and true or false was expected"));
  // What the metadata alone say is not looked for in a file that may not be there.
  fs::remove(config);
  const std::string metadata = "the metadata of " + f.weights + ": the key ";
  CHECK(has(says({{"heads", "two"}, {"norm", "post"}, {"activation", "relu"}}),
            metadata + "'heads' is \"two\", and a whole number from 1 on was expected"));
  CHECK(
      has(says({{"heads", "2"}, {"norm", "behind"}, {"activation", "relu"}}), metadata + "'norm'"));
  CHECK(has(says({{"heads", "2"}, {"norm", "post"}, {"activation", "relu"}, {"word_norm", "x"}}),
            "the metadata of " + f.weights + ": word norm 'x': this norm is not known"));
  CHECK(has(says({{"heads", "2"}, {"norm", "post"}, {"activation", "relu"}, {"head", "lean"}}),
            "the metadata of " + f.weights + ": no kernel is called 'lean'"));
}

TEST_CASE("foreign: shards that contradict each other, and heads that do, are errors") {
  const Notices notices;
  const Foreign f;
  const std::vector<NamedView> all = tensors_of(f.set);
  const std::string first = "model-1.safetensors", second = "model-2.safetensors";
  Json map = Json::object();
  for (const NamedView& t : all) map[t.name] = &t - all.data() < 9 ? first : second;
  f.dir.write("model.safetensors.index.json", Json{{"weight_map", map}}.dump());
  const auto says = [&](const std::string& a, const std::string& b) {
    write_safetensors(f.dir / first, {all.begin(), all.begin() + 9}, {{"heads", a}});
    write_safetensors(f.dir / second, {all.begin() + 9, all.end()},
                      {{"heads", b}, {"norm", "post"}, {"activation", "relu"}});
    return error_of([&] { LanguageModel::load(f.path); });
  };
  CHECK(says("2", "2") == "");
  CHECK(says("2", "4") == concat("the metadata of ", f.dir / first,
                                 ": the key 'heads' is \"2\", but \"4\" in the metadata of ",
                                 f.dir / second, "; correct one of them"));
}

TEST_CASE("foreign: what a run resolved is the head that it was given") {
  const Notices notices;
  const Foreign f;
  const auto says = [&](const char* head, const char* resolved,
                        const std::map<std::string, std::string>& metadata) {
    write_safetensors(f.weights, tensors_of(f.set), metadata);
    f.say(concat(R"({"heads": 2, "norm": "pre", "activation": "relu")", head,
                 R"(, "resolved": {"version": "0.2.0", "parameters": )", f.set.count(),
                 R"(, "head": ")", resolved, "\"}}"));
    return error_of([&] { LanguageModel::load(f.path); });
  };
  const std::string config = f.dir / "config.json", right = "there is a tensor";
  const auto is_right = [&](const std::string& said) { return !has(said, "'head'"); };
  CHECK(is_right(says(R"(, "head": "log")", "log", {})));
  CHECK(is_right(says(R"(, "head": "ssg", "variance": "0.5")", "ssg:variance=0.5", {})));
  // Such a name may mean another head in another version.
  CHECK(is_right(says(R"(, "head": "log@tuned")", "log:p=3", {})));
  CHECK(has(says(R"(, "head": "lin")", "log", {}),
            config + ": the key 'head' is \"lin\", but \"log\" in 'resolved' of " + config));
  CHECK(
      has(says("", "log", {{"head", "lin"}}),
          "'resolved' of " + config + ": the key 'head' is \"log\", but \"lin\" in the metadata"));
  // Nine's metadata that leave the head out mean lin, and those without embed_scale the usual one.
  const std::map<std::string, std::string> own{{"nine_version", "0.2.0"}, {"arch", "transformer"}};
  CHECK(has(says(R"(, "head": "log")", "log", own),
            "which Nine wrote, mean \"lin\" by leaving it out; correct one of them"));
}

TEST_CASE("foreign: the embed_scale of Nine's own models is the usual one") {
  const Notices notices;
  TransformerLanguageModelConfig c = Foreign::config();
  c.style.norm = NormOrder::pre;
  const Foreign f(c);
  const auto says = [&](const char* scale, std::map<std::string, std::string> metadata) {
    metadata.insert({{"nine_version", "0.2.0"},
                     {"arch", "transformer"},
                     {"heads", "2"},
                     {"bptt", "9"},
                     {"activation", "relu"},
                     {"positions", "learned"}});
    write_safetensors(f.weights, tensors_of(f.set), metadata);
    f.say(concat("{\"embed_scale\": ", scale, "}"));
    return error_of([&] { LanguageModel::load(f.path); });
  };
  CHECK(says("1", {}) == "");
  CHECK(has(says("3", {}), "config.json: the key 'embed_scale' is 3, but Nine has 1 only"));
  CHECK(says("3", {{"embed_scale", "3.0"}}) == "");
  CHECK(has(says("3", {{"embed_scale", "2"}}), "the key 'embed_scale' is 3, but \"2\" in "));
}

TEST_CASE("foreign: a head's buffers are those of its norms") {
  const Notices notices;
  const TemporaryDirectory dir;
  dir.write("dict.txt", kWords);
  const Tensor of_words = Tensor::from(Doubles(7, 2), {7}), norm = Tensor::from(Doubles{3}, {1});
  const std::string max = "head.context_max", average = "head.context_max_ema",
                    counts = "head.counts";
  const auto says = [&](const char* word, const char* context, const Strings& buffers,
                        const char* more = "", const char* version = "") {
    HeadConfig head{.bias = true};
    ParameterSet set;
    const LstmLanguageModel lstm(set,
                                 {.vocab = 7, .embed = 4, .hidden = 6, .layers = 1, .head = head});
    std::vector<NamedView> tensors = tensors_of(set);
    for (const std::string& name : buffers)
      tensors.push_back({name, name == counts ? of_words : norm});
    std::map<std::string, std::string> metadata;
    if (*version != 0) metadata = {{"nine_version", version}};
    if (*word != 0) metadata["word_norm"] = word;
    if (*context != 0) metadata["context_norm"] = context;
    write_safetensors(dir / "model.safetensors", tensors, metadata);
    dir.write("config.json", concat("{", more, "}"));
    return error_of([&] { LanguageModel::load(dir.path().string()); });
  };
  CHECK(says("", "", {}) == "");
  CHECK(says("log-rank", "max", {counts, max}) == "");
  CHECK(says("const:1", "max:ema:through", {average}) == "");
  CHECK(has(says("", "max", {}),
            ": there is no tensor head.context_max, but the word norm is none "
            "and the context norm max; config.json or the metadata must say"));
  CHECK(has(says("", "max:ema", {max}),
            "there is a tensor head.context_max, but the word norm is "
            "none and the context norm max:ema"));
  CHECK(has(says("", "max", {average}), "there is no tensor head.context_max, but"));
  CHECK(has(says("", "max", {average, max}), "there is a tensor head.context_max_ema, but"));
  CHECK(has(says("", "", {max}), "there is a tensor head.context_max, but"));
  CHECK(has(says("log-rank", "", {}), "there is no tensor head.counts, but the word norm is log-"));
  // Without a word norm they are a sampled softmax's, which Nine's metadata do not mention.
  CHECK(has(says("", "", {counts}), "there is a tensor head.counts, but the word norm is none"));
  CHECK(says("", "", {counts}, R"("sampled_softmax": "4")") == "");
  CHECK(says("", "", {counts}, "", "0.2.0") == "");
  CHECK(has(says("", "", {counts}, R"("sampled_softmax": "")", "0.2.0"), "a tensor head.counts"));
  // The numbers that a head learned.
  const std::string number = "head.scores.0.gamma", learns = R"("head": "rbf:gamma=learn")";
  CHECK(
      has(says("", "", {}, learns.c_str()), "there is no tensor head.scores.0.gamma, which holds"));
  CHECK(says("", "", {number}, learns.c_str()) == "");
  for (const auto& [stored, error] : {std::pair(1e4, "inf, which is too large for float64"),
                                      std::pair(-1e4, "0, which must be above 0")}) {
    norm.data<double>()[0] = stored;
    CHECK(has(says("", "", {number}, learns.c_str()),
              concat("the tensor head.scores.0.gamma makes gamma ", error)));
  }
}

TEST_CASE("foreign: a key that says something else than the tensors is an error") {
  const Notices notices;
  const Foreign f;
  const auto says = [&](const std::string& more, const std::map<std::string, std::string>& m = {}) {
    write_safetensors(f.weights, tensors_of(f.set), m);
    f.say(R"({"heads": 2, "norm": "post", "activation": "relu", )" + more + "}");
    return error_of([&] { LanguageModel::load(f.path); });
  };
  const std::string right =
      R"("layers": 2, "hidden": 8, "ffn": 12, "vocab": 7, "bptt": 9, "head_bias": true,
         "tie_embeddings": false, "norm_first": false, "task": "lm")";
  CHECK(says(right) == "");
  CHECK(says(R"("arch": "mymodel")", {{"arch", "mymodel"}}) == "");
  const std::string first = "transformer.layers.0.self_attn.in_proj_weight";
  // In config.json, and as a text of the metadata.
  struct Wrong {
    const char* key;
    Json value;
    std::string error;
  };
  for (const auto& [key, value, error] : std::initializer_list<Wrong>{
           {"layers", 3, "but there are 2 tensors transformer.layers.N"},
           {"hidden", 16, "but the tensor embedding.weight has 8 columns"},
           {"ffn", 13, "but the tensor transformer.layers.0.linear1.weight has 12 rows"},
           {"vocab", 8, "but the tensor embedding.weight has 7 rows"},
           {"vocab", "words", "and a whole number from 1 on was expected"},
           {"bptt", 8, "but the tensor positions.weight has 9 rows"},
           {"head_bias", false, "but there is a tensor head.bias"},
           {"head_bias", "no", "and true or false was expected"},
           {"tie_embeddings", true, "but there is a tensor head.weight, (7, 8)"},
           {"norm_first", true, "but the key 'norm' is \"post\""},
           {"norm_first", "perhaps", "and true or false was expected"},
           {"positions", "sinusoidal", "but there is a tensor positions.weight"},
           {"layer_norm_eps", 1e-50, "which is 0 in float32"},
           {"task", "mt", "but the tensor embedding.weight is of a model of"},
           {"arch", "lstm", "but the tensor " + first}}) {
    const std::string stored = value.is_string() ? value.get<std::string>() : value.dump(),
                      of_config = says(concat('"', key, "\": ", value.dump())),
                      of_metadata = says(R"("unused": 1)", {{key, stored}});
    for (const std::string& said : {of_config, of_metadata}) {
      CHECK_MESSAGE(has(said, concat(": the key '", key, "' is ")), said);
      CHECK_MESSAGE(has(said, error), said);
    }
    CHECK(of_config.starts_with(f.dir / "config.json"));
    CHECK(of_metadata.starts_with("the metadata of " + f.weights));
  }
  // The one against the other.
  CHECK(has(says(R"("layers": 2)", {{"layers", "3"}}), "is 2, but \"3\" in the metadata of "));
  CHECK(says(right, {{"layers", "2"}, {"norm_first", "False"}, {"tie_embeddings", "False"}}) == "");
  CHECK(has(says(right, {{"tied", "head.weight=embedding.weight"}}),
            " say by the key 'tied' 'head.weight=embedding.weight', but the tensors show no ties"));
  // The metadata.
  std::map<std::string, std::string> own{{"nine_version", "0.1.0"}, {"norm", "post"}};
  own["arch"] = "mamba";
  CHECK(has(says(right, own),
            "model.safetensors: the key 'arch' is \"mamba\", but the tensor " + first));
  own["arch"] = "transformer";
  CHECK(has(says(R"("arch": "lstm")", own),
            "the key 'arch' is \"lstm\", but \"transformer\" in the "));
  own["untied"] = "maybe";
  CHECK(has(says(right, own), "the key 'untied' is \"maybe\", and true or false was expected"));
  own.erase("untied");
  CHECK(notices.all.size() == 1);  // what is assumed
  own["nine_version"] = "99.0";
  CHECK(has(says(right, own),
            "the key 'norm' is 'post', but there is a tensor transformer.norm.weight"));
  CHECK(has(notices.all.back(), f.path + " was written by Nine 99.0; this is "));
}

TEST_CASE("foreign: Hugging Face's names of activations, and a factor of an LSTM's embeddings") {
  const Notices notices;
  const Foreign f;
  f.say(kSaid);
  write_safetensors(f.weights, tensors_of(f.set));
  const auto scores = [&](const char* name) {
    Json config = Json::parse(kSaid);
    config["activation"] = name;
    f.dir.write("config.json", config.dump());
    return LanguageModel::load(f.path).score(kLines);
  };
  const auto gelu = scores("gelu"), tanh = scores("gelu-tanh"), silu = scores("silu");
  CHECK(scores("gelu_new") == tanh);
  CHECK(scores("gelu_pytorch_tanh") == tanh);
  CHECK(scores("swish") == silu);
  CHECK(tanh != gelu);
  CHECK(tanh != silu);
  // Other programs' words for what would be assumed.
  const auto with = [&](const char* key, const Json& value) {
    Json config = Json::parse(kSaid);
    config[key] = value;
    f.dir.write("config.json", config.dump());
    return error_of([&] { LanguageModel::load(f.path); });
  };
  CHECK(with("rms_norm_eps", 1e-5) == "");
  CHECK(with("rms_norm_eps", 1e-6) == "");
  CHECK(with("scale_embedding", false) == "");
  CHECK(has(with("scale_embedding", true), "Nine reads the key 'embed_scale'"));
  // Other programs' settings that Nine lacks, and their values without an effect.
  for (const auto& [key, value, without_effect] :
       {std::tuple<const char*, Json, Json>("sliding_window", 4, nullptr),
        {"attention_chunk_size", 8, nullptr},
        {"attention_multiplier", 0.25, nullptr},
        {"query_pre_attn_scalar", 256, nullptr},
        {"attn_logit_softcapping", 50.0, nullptr},
        {"final_logit_softcapping", 30.0, nullptr},
        {"clip_qkv", 8, nullptr},
        {"scale_depth", 1.4, nullptr},
        {"dim_model_base", 256, nullptr},
        {"logit_scale", 0.0625, 1},
        {"logits_scaling", 8, 1.0},
        {"lm_head_multiplier", 0.5, 1},
        {"embedding_multiplier", 12, 1.0},
        {"scale_emb", 12, 1},
        {"residual_multiplier", 0.22, 1},
        {"key_multiplier", 0.5, 1},
        {"scale_attn_weights", false, true},
        {"scale_attn_by_inverse_layer_idx", true, false},
        {"use_parallel_residual", true, false},
        {"parallel_attn", true, false},
        {"alibi", true, false}}) {
    const std::string wrong = with(key, value);
    CHECK_MESSAGE(
        has(wrong, concat(f.path, "/config.json: the key '", key, "' is ", json_text(value),
                          ", and Nine has no such setting: if the model computes without it, "
                          "leave out the key")),
        wrong);
    CHECK(with(key, without_effect) == "");
    CHECK(with(key, nullptr) == "");
  }
  {
    Json config = Json::parse(kSaid);
    config["sliding_window"] = 4;
    config["use_sliding_window"] = false;
    f.say(config.dump());
    CHECK(error_of([&] { LanguageModel::load(f.path); }) == "");
    // Metadata hold texts.
    f.say(kSaid);
    write_safetensors(f.weights, tensors_of(f.set),
                      {{"sliding_window", "None"}, {"logit_scale", "1.0"}, {"alibi", "False"}});
    CHECK(error_of([&] { LanguageModel::load(f.path); }) == "");
    write_safetensors(f.weights, tensors_of(f.set), {{"logit_scale", "0.5"}});
    CHECK(has(error_of([&] { LanguageModel::load(f.path); }), "the key 'logit_scale' is \"0.5\""));
  }

  const TemporaryDirectory dir;
  ParameterSet set;
  const LstmLanguageModel lstm(set, {.vocab = 7, .embed = 4, .hidden = 6, .layers = 1});
  dir.write("dict.txt", kWords);
  const auto says = [&](const char* config, const char* zero) {
    std::vector<NamedView> tensors = tensors_of(set);
    Tensor nothing;
    for (NamedView& t : tensors)
      if (t.name == zero) t.view = nothing = Tensor(t.view.shape, DType::float32);
    write_safetensors(dir / "model.safetensors", tensors);
    dir.write("config.json", config);
    return error_of([&] { LanguageModel::load(dir.path().string()); });
  };
  CHECK(says(R"({"embed_scale": 1})", "") == "");
  CHECK(has(says(R"({"embed_scale": 2})", ""),
            "the key 'embed_scale' is 2, but the tensors are an LSTM's, and the key is for "));
  CHECK(has(says("{}", "lstm.weight_ih_l0"), "the tensor lstm.weight_ih_l0 is 0 everywhere"));
}

TEST_CASE("foreign: so it is with an LSTM and with a translation model") {
  const Notices notices;
  const TemporaryDirectory dir;
  ParameterSet set;
  const LstmLanguageModel lstm(set, {.vocab = 7, .embed = 4, .hidden = 6, .layers = 1});
  write_safetensors(dir / "model.safetensors", tensors_of(set));
  dir.write("dict.txt", kWords);
  const auto says = [&](const std::string& config) {
    dir.write("config.json", config);
    return error_of([&] { LanguageModel::load(dir.path().string()); });
  };
  CHECK(says(R"({"layers": 1, "embed": 4, "hidden": 6, "ffn": 5, "norm_first": true})") == "");
  CHECK(has(says(R"({"layers": 2})"), "but there are 1 tensors lstm.weight_ih_lN"));
  CHECK(has(says(R"({"embed": 6})"), "but the tensor embedding.weight has 4 columns"));
  CHECK(has(says(R"({"hidden": 4})"), "but the tensor lstm.weight_hh_l0 has 6 columns"));
  CHECK(
      has(says(R"({"arch": "transformer"})"),
          "'arch' is \"transformer\", but the tensor lstm.weight_hh_l0 is of the network 'lstm'"));

  const ForeignTranslation f;
  write_safetensors(f.weights, f.tensors("positions"));
  for (const auto& [more, error] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"("pad": 0)", "the key 'pad' is 0, but Nine has 1 only"},
           {R"("task": "lm")",
            "'task' is \"lm\", but the tensor tgt_embedding.weight is of a model"},
           {R"("src_vocab": 8)", "but the tensor src_embedding.weight has 7 rows"},
           {R"("decoder_layers": 1)", "there are 2 tensors transformer.decoder.layers.N.linear1."},
           {R"("shared_vocab": true)", "is true, but there is a tensor src_embedding.weight"},
           {R"("tie_embeddings": true)", "is true, but there is a tensor head.weight"},
           {R"("head_bias": true)", "is true, but there is no tensor head.bias"}}) {
    f.dir.write("config.json", concat(R"({"heads": 2, "norm": "post", )", more, "}"));
    const std::string said = error_of([&] { f.scores(); });
    CHECK_MESSAGE(has(said, error), said);
  }
}

TEST_CASE(
    "foreign: neither a config.json nor a state.json of another program makes a model Nine's") {
  const Notices notices;
  const Foreign f;
  write_safetensors(f.weights, tensors_of(f.set));
  const auto says = [&] { return error_of([&] { LanguageModel::load(f.path); }); };
  for (const char* config : {R"({"resolved": {}})", R"({"nine_version": "0.2.0"})",
                             R"({"resolved": {"head": "mos"}})", R"({"resolved": []})"}) {
    f.say(config);
    CHECK(has(says(), "config.json lacks \"heads\", \"norm\" and \"activation\""));
  }
  f.say(R"({"heads": 2, "norm": "post", "activation": "relu", "resolved": {"head": "mos"}})");
  f.dir.write("state.json", R"({"epoch": 3, "step": 100})");
  check_close(LanguageModel::load(f.path).score(kLines), f.expected());
  REQUIRE(notices.all.size() == 2);
  CHECK(has(notices.all[0], f.dir / "state.json" + " is another program's, without the keys"));
  CHECK(has(notices.all[1], R"({"head":"lin",)"));
  // Damaged, or changed after it was written, it is Nine's.
  for (const char* state : {"{\"step\": 1", R"({"step": 1, "files": {}, "crc32c": 5})"}) {
    f.dir.write("state.json", state);
    CHECK(has(says(), "the checkpoint " + f.path + " is damaged: state.json "));
  }
  // Beside what Nine wrote, such a file is no other program's.
  write_safetensors(f.weights, tensors_of(f.set), {{"nine_version", "1"}});
  f.say(R"({"heads": 2, "norm": "pre", "activation": "relu"})");
  f.dir.write("state.json", "{}");
  CHECK(
      has(says(), f.dir / "state.json" + " is no state of a checkpoint: an object with the keys"));
  fs::remove(f.weights);
  f.dir.write("state.json", "[]");
  CHECK(has(says(), "there is no checkpoint at " + f.path + ": neither a state.json"));
  f.dir.write("model.pt", "");
  CHECK(has(says(), "for file in [\"" + f.dir / "model.pt" + "\"]:"));
}

TEST_CASE("foreign: whole numbers in a tensor, and weights that lie twice in a directory") {
  const Notices notices;
  const Foreign f;
  f.say(kSaid);
  std::vector<NamedView> tensors = tensors_of(f.set);
  write_safetensors(f.weights, tensors);
  const std::string index = f.dir.write("model.safetensors.index.json", "{}");
  LanguageModel::load(f.path);
  CHECK(
      has(notices.all.front(), index + " was not read, because model.safetensors lies beside it"));
  const Tensor whole(tensors.back().view.shape, DType::int32);
  tensors.back().view = whole;
  write_safetensors(f.weights, tensors);
  CHECK(has(error_of([&] { LanguageModel::load(f.path); }),
            concat("tensor '", tensors.back().name, "' holds whole numbers")));
}

TEST_CASE("foreign: a model.safetensors that is something else is named") {
  const Foreign f;
  f.say(kSaid);
  const auto says = [&](const std::string& bytes) {
    f.dir.write("model.safetensors", bytes);
    return error_of([&] { LanguageModel::load(f.path); });
  };
  using namespace std::string_literals;
  CHECK(has(says("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"),
            f.weights + " is not a safetensors file, but a pointer of Git LFS, "));
  CHECK(has(says("\x1F\x8B\x08\0\0\0\0\0\0\x03"s), "but packed by gzip; unpack it with"));
  CHECK(has(says("PK\x03\x04\x14\0\0\0\x08\0 and so on"s), "but a zip archive; unpack it"));
  CHECK(has(says("<!DOCTYPE html><html></html>"), "but a web page"));
  for (const std::string& pickle :
       {"PK\x03\x04\0\0\x08\x08\0\0\0\0\0\0 model/data.pkl"s, "\x80\x02\x8A\nl\xFC\x9C\x46\xF9 j"s,
        "\x80\x04\x95\x20\0\0\0\0\0\0\0}"s}) {
    const std::string said = says(pickle);
    CHECK(has(said, f.weights + " is a pickle of Python's, as torch.save writes it, which "));
    CHECK(has(said, "for file in [\"" + f.weights + "\"]:"));
  }
  // A safetensors file, damaged or not, is none of them: its length may begin like another kind.
  for (const char* length : {"\x80\x02\x01", "<!\x01", "PK\x01"})
    CHECK(has(says(length + "\0\0\0\0\0{}"s), "is not a valid safetensors file: its header "));
}

TEST_CASE("foreign: PyTorch's pickles get the lines that convert them") {
  const TemporaryDirectory dir;
  const auto says = [&](const std::string& path) {
    return error_of([&] { model_directory(path, kDictionaryFile); });
  };
  CHECK(has(says(dir.path().string()),
            "checkpoints/ with one; name a run directory or one of its checkpoints, or a directory "
            "with model.safetensors"));
  dir.write("optimizer.pt", "");
  dir.write("pytorch_model-00002-of-00002.bin", "");
  dir.write("pytorch_model-00001-of-00002.bin", "");
  const std::string lines = says(dir.path().string());
  CHECK(has(lines, concat("for file in [\"", dir / "pytorch_model-00001-of-00002.bin", "\",\"",
                          dir / "pytorch_model-00002-of-00002.bin",
                          "\"]:\n    todo.append((\"\", torch.load(open(file, ")));
  CHECK(has(lines, concat("save_file(*found.values(), \"", dir / "model.safetensors", "\")")));
  CHECK(has(says(dir.write("model.pt", "")), concat("for file in [\"", dir / "model.pt", "\"]:")));
  using namespace std::string_literals;
  const std::string other = dir.write("other.bin", "\6\0\0\0\x10\0TransformerSpec\0\7\0\0\0"s);
  CHECK(
      has(says(other), other + " is a model of CTranslate2, which Nine writes and does not read"));
  const std::string pointer =
      dir.write("pointer.bin", "version https://git-lfs.github.com/spec/v1");
  CHECK(has(says(pointer), pointer + " is a pointer of Git LFS"));
}

TEST_CASE("foreign: of several pickles the model is found, or asked for") {
  const TemporaryDirectory dir;
  const auto says = [&] {
    return error_of([&] { model_directory(dir.path().string(), kDictionaryFile); });
  };
  const auto takes = [&](const std::string& file) {
    return has(says(), concat("for file in [\"", dir / file, "\"]:"));
  };
  for (const char* name : {"optimizer.pt", "scheduler.pt", "training_args.bin", "rng_state.pth"})
    dir.write(name, "");
  CHECK(has(says(), "or a directory with model.safetensors"));
  dir.write("net.ckpt", "");
  CHECK(takes("net.ckpt"));
  dir.write("checkpoint1.pt", "");
  CHECK(has(says(),
            "has no model.safetensors, and these files may be the model: checkpoint1.pt, "
            "net.ckpt; name the file of the model, such as " +
                dir / "checkpoint1.pt"));
  dir.write("model.pt", "");
  CHECK(takes("model.pt"));
  dir.write("pytorch_model.bin", "");
  CHECK(takes("pytorch_model.bin"));
}

TEST_CASE("foreign: docs/pytorch.md has the lines that convert pickles") {
  const std::string page = slurp(NINE_SOURCE_DIR "/docs/pytorch.md");
  const TemporaryDirectory dir;
  dir.write("pytorch_model.bin", "");
  std::string lines = error_of([&] { model_directory(dir.path().string()); });
  lines.erase(0, lines.find("import torch"));
  for (size_t at = 0; (at = lines.find(dir.path().string(), at)) != std::string::npos;)
    lines.replace(at, dir.path().string().size(), "DIR");
  for (size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; at += 5)
    lines.replace(at, 1, "\n    ");
  CHECK_MESSAGE(has(page, "\n    " + lines + "\n"), lines);
}

TEST_CASE("foreign: a translation model says its positions, its sizes are the tensors'") {
  const Notices notices;
  const ForeignTranslation f;
  for (const char* name : {"positions", "positions.weight"}) {
    write_safetensors(f.weights, f.tensors(name));
    check_close(f.scores(), f.expected());
  }
  CHECK(has(notices.all.at(0),
            R"({"head":"lin","activation":"relu","layer_norm_eps":1e-05,"embed_scale":2.828)"));
  std::vector<NamedView> both = f.tensors("positions");
  both.push_back({"positions.weight", both.back().view});
  write_safetensors(f.weights, both);
  CHECK(has(error_of([&] { f.scores(); }), "has both tensors 'positions' and 'positions.weight'"));
  const auto say = [&](const std::string& more) {
    f.dir.write("config.json", R"({"heads": 2, "norm": "post", )" + more + "}");
  };
  write_safetensors(f.weights, f.tensors("positions"));
  say(R"("max_length": 20)");
  CHECK(has(error_of([&] { f.scores(); }),
            "the key 'max_length' is 20, but the tensor positions has 9 rows"));
  write_safetensors(f.weights, f.tensors(nullptr));
  f.dir.write("config.json", R"({"heads": 2, "norm": "post"})");
  CHECK(has(error_of([&] { f.scores(); }), "has no tensor 'positions', (T, 8)"));
  say(R"("positions": "learned")");
  CHECK(has(error_of([&] { f.scores(); }),
            "the key 'positions' is \"learned\", but there is no tensor positions"));
  write_safetensors(f.weights, f.tensors("positions"));
  CHECK(f.scores().size() == 2);
  say(R"("positions": "sinusoidal")");
  CHECK(has(error_of([&] { f.scores(); }), "but there is a tensor positions"));
  write_safetensors(f.weights, f.tensors(nullptr), {{"tied", "head.weight=tgt_embedding.weight"}});
  CHECK(has(error_of([&] { f.scores(); }), "but the tensors show no ties"));
  write_safetensors(f.weights, f.tensors(nullptr), {{"head", "mix2"}});
  CHECK(has(error_of([&] { f.scores(); }), f.path + ": the weights have no tensor 'head.prior"));
  write_safetensors(f.weights, f.tensors(nullptr));
  check_close(f.scores(), f.expected());
  say(R"("positions": "sinusoidal", "activation": "gelu")");
  CHECK(std::abs(f.scores()[0][0] - f.expected()[0][0]) > 1e-6);
  say(R"("positions": "sinusoidal", "activation": "selu")");
  CHECK(has(error_of([&] { f.scores(); }), "the key 'activation': activation 'selu' is not one"));
  say(R"("positions": "rotary", "rotary_base": 50)");
  CHECK(std::abs(f.scores()[0][1] - f.expected()[0][1]) > 1e-6);
  write_safetensors(f.weights, f.tensors("positions"));
  CHECK(has(error_of([&] { f.scores(); }),
            "the key 'positions' is \"rotary\", but there is a tensor positions"));
  f.dir.write("config.json", R"({"heads": 2})");
  CHECK(has(error_of([&] { f.scores(); }), "config.json lacks \"norm\""));
  SUBCASE("in float16") {
    write_16_bits(f.weights, f.tensors("positions"), false);
    say(R"("embed_scale": 2.8284271247461903)");
    const auto found = f.scores(), expected = f.expected();
    for (size_t t = 0; t < found[0].size(); ++t)
      CHECK(found[0][t] == doctest::Approx(expected[0][t]).epsilon(0.01));
  }
  SUBCASE("embed_scale") {
    TransformerConfig c = ForeignTranslation::config();
    c.embed_scale = 0.5;
    const ForeignTranslation other(c);
    write_safetensors(other.weights, other.tensors("positions"));
    other.dir.write("config.json", R"({"heads": 2, "norm": "post", "embed_scale": 0.5})");
    check_close(other.scores(), other.expected());
  }
}

TEST_CASE("foreign: one embedding for both languages has one dictionary") {
  const Notices notices;
  TransformerConfig c = ForeignTranslation::config();
  c.src_vocab = c.tgt_vocab;
  c.shared_vocab = true;
  const ForeignTranslation f(c);
  write_safetensors(f.weights, f.tensors("positions"));
  const auto says = [&] {
    return error_of([&] { Translator::load(f.path).score({"dog"}, {"the"}); });
  };
  f.dir.write("src.dict.txt", "the 2\ndog 1\n");
  CHECK(has(says(), f.path + " has one embedding for both languages (no src_embedding.weight), but "
                             "word 4 is 'the' in src.dict.txt and 'dog' in tgt.dict.txt"));
  f.dir.write("src.dict.txt", "dog 1\nthe 1\n");
  CHECK(says() == "");
}

TEST_CASE("foreign: training goes on from what it would compute, and from nothing else") {
  const Notices notices;
  const ForeignTranslation f;
  const auto init = [&](const TransformerConfig& own) {
    ParameterSet set;
    const Transformer network(set, own);
    const Vocabulary source =
                         Vocabulary::read_saved(f.dir / "src.dict.txt", Specials::kTranslation),
                     target =
                         Vocabulary::read_saved(f.dir / "tgt.dict.txt", Specials::kTranslation);
    return error_of([&] { load_initial_weights(f.path, {source}, {target}, network); });
  };
  TransformerConfig c = ForeignTranslation::config();
  for (const bool brain : {false, true}) {
    write_16_bits(f.weights, f.tensors("positions"), brain);
    CHECK(init(c) == "");
    c.max_length = 1024;  // more positions than there
  }
  c.style.norm = NormOrder::pre;
  CHECK(has(init(c), "they come from a network with norm post, but this network has pre"));
  c = ForeignTranslation::config();
  c.embed_scale = 1;
  CHECK(has(init(c), "with embed_scale 2.8284271247461903, but this network has 1"));
  c = ForeignTranslation::config();
  const Tensor moved = f.network.positions();
  moved.data<float>()[11] += 0.01f;
  write_16_bits(f.weights, f.tensors("positions"), false);
  CHECK(has(init(c), "their positions are not the sinusoids that mt_train computes"));
}

TEST_CASE(
    "foreign: lm_score says what it assumes, and a model without its optimiser's state opens") {
  const Foreign f;
  f.say(kSaid);
  write_safetensors(f.weights, tensors_of(f.set));
  const Outcome scored = run_program("lm_score", {"--checkpoint", f.path}, "the cat\n");
  CHECK(scored.code == 0);
  CHECK(has(scored.err, "nothing in it says what is assumed: {\"head\":\"lin\""));

  const TemporaryDirectory dir;
  const auto train = [&](const std::string& run, const Strings& more) {
    Strings all{"--sample", "--sample-sentences",
                "200",      "--layers",
                "1",        "--hidden",
                "8",        "--embed",
                "8",        "--batch",
                "4",        "--bptt",
                "16",       "--run",
                run};
    all.insert(all.end(), more.begin(), more.end());
    return run_program("lm_train", all);
  };
  REQUIRE(train(dir / "run", {"--after", "2u"}).code == 0);
  const std::string text = "the cat\n";
  const Outcome before = run_program("lm_score", {"--checkpoint", dir / "run"}, text);
  CHECK(!has(before.err, "assumed"));
  const fs::path best = fs::canonical(dir / "run/checkpoints/best");
  // It is not looked at: a damaged one is as good as none.
  fs::resize_file(best / "optimizer.safetensors", 100);
  CHECK(run_program("lm_score", {"--checkpoint", dir / "run"}, text).out == before.out);
  fs::remove(best / "optimizer.safetensors");
  const Outcome after = run_program("lm_score", {"--checkpoint", dir / "run"}, text);
  CHECK(after.code == 0);
  CHECK(after.out == before.out);
  CHECK(train(dir / "on", {"--after", "1u", "--init", best.string()}).code == 0);
  const Outcome again = train(dir / "run", {"--after", "3u"});
  CHECK_MESSAGE(has(again.err + again.out,
                    "optimizer.safetensors is missing, which is needed to resume the training"),
                again.err);
}

TEST_CASE("foreign: what a run resolved are the sizes of the tensors") {
  const Notices notices;
  TransformerLanguageModelConfig c = Foreign::config();
  c.style.norm = NormOrder::pre;
  const Foreign f(c);
  write_safetensors(f.weights, tensors_of(f.set));
  const auto says = [&](const char* key, int64_t size) {
    Json resolved{{"version", "0.2.0"}, {"parameters", f.set.count()}, {"head", "lin"}};
    resolved[key] = size;
    f.say(
        Json{{"heads", 2}, {"norm", "pre"}, {"activation", "relu"}, {"resolved", resolved}}.dump());
    return error_of([&] { LanguageModel::load(f.path); });
  };
  CHECK(says("vocab", 7) == "");
  CHECK(has(says("parameters", 5),
            concat(f.dir / "config.json", ": 'resolved' says that 'parameters' is 5, but the ",
                   "number of the tensors' parameters is ", f.set.count())));
  CHECK(has(says("vocab", 8),
            "'vocab' is 8, but the number of rows of embedding.weight is 7: put "
            "the model's own config.json there"));
  const ForeignTranslation t;
  write_safetensors(t.weights, t.tensors("positions"));
  for (const auto& [key, table] : {std::pair("src_vocab", "src_embedding.weight is 7"),
                                   std::pair("tgt_vocab", "tgt_embedding.weight is 6")}) {
    Json resolved{{"version", "0.2.0"}, {"parameters", t.set.count()}, {"head", "lin"}};
    resolved[key] = 9;
    t.dir.write("config.json", Json{{"heads", 2}, {"norm", "post"}, {"resolved", resolved}}.dump());
    CHECK(has(error_of([&] { t.scores(); }),
              concat("'", key, "' is 9, but the number of rows of ", table)));
  }
}

TEST_CASE(
    "foreign: the type of the weights is that of the word vectors, and what says otherwise is "
    "named") {
  const Notices notices;
  const Foreign f;
  const std::string told = R"({"heads": 2, "norm": "post", "activation": "relu")";
  const auto says = [&](const std::string& more) {
    f.say(told + more + "}");
    return error_of([&] { LanguageModel::load(f.path); });
  };
  write_safetensors(f.weights, tensors_of(f.set));
  const std::string place = f.dir / "config.json" + ": the key 'dtype' is ";
  for (const char* right : {"", R"(, "dtype": "float32")", R"(, "dtype": "torch.float32")",
                            R"(, "dtype": "bfloat16")", R"(, "dtype": 5)"})
    CHECK(says(right) == "");
  CHECK(has(says(R"(, "dtype": "torch.float64")"),
            place + "\"torch.float64\", but the tensor embedding.weight is of type float32"));
  for (const std::string& n : notices.all) CHECK_FALSE(has(n, "is of type"));
  // A tensor of another type is converted, and that is said.
  std::vector<NamedView> tensors = tensors_of(f.set);
  Tensor wide;
  for (NamedView& t : tensors)
    if (t.name == "head.weight") {
      wide = Tensor(t.view.shape, DType::float64);
      for (int64_t i = 0; i < t.view.elements(); ++i)
        wide.data<double>()[i] = static_cast<double>(t.view.as<float>()[i]);
      t.view = wide;
    }
  write_safetensors(f.weights, tensors);
  CHECK(says("") == "");
  CHECK(std::ranges::count_if(notices.all, [&](const std::string& n) {
          return n == f.path +
                          ": the tensor head.weight is of type float64 and embedding.weight of "
                          "type float32: the model computes with float32";
        }) == 1);
  // Nine's own files: the key is one of two words, and a version is one.
  const auto own = [&](const std::string& more, const std::string& version) {
    write_safetensors(f.weights, tensors_of(f.set), {{"nine_version", version}});
    return says(more);
  };
  CHECK(has(own(R"(, "arch": "transformer", "bptt": 9, "dtype": "half")", "0.2.0"),
            place + "\"half\""));
  CHECK(has(own(R"(, "arch": "transformer", "bptt": 9, "dtype": 5)", "0.2.0"), place + "5"));
  for (const char* version : {"abc", "", "0.2.", "0.2.x", "0.2.0beta", "-1.2.0"})
    CHECK_MESSAGE(has(own("", version),
                      concat("the metadata of ", f.weights, ": the key 'nine_version' is \"",
                             version, "\", and a version of Nine such as 0.2.0 was expected")),
                  version);
  write_safetensors(f.weights, tensors_of(f.set));
  for (const char* version : {R"("abc")", "3"})
    CHECK(has(says(concat(R"(, "resolved": {"head": "lin", "parameters": )", f.set.count(),
                          R"(, "version": )", version, "}")),
              concat(f.dir / "config.json", ": the key 'resolved/version' is ", version)));
}

TEST_CASE("foreign: word vectors of 0 and a bias that its stored type rounds are errors") {
  const Notices notices;
  const Foreign f;
  f.say(kSaid);
  const auto says = [&] { return error_of([&] { LanguageModel::load(f.path); }); };
  for (const char* name : {"embedding.weight", "head.weight", "positions.weight"}) {
    std::vector<NamedView> tensors = tensors_of(f.set);
    Tensor zero;
    for (NamedView& t : tensors)
      if (t.name == name) t.view = zero = Tensor(t.view.shape, DType::float32);
    write_safetensors(f.weights, tensors);
    CHECK(has(says(), concat(f.path, ": the tensor ", name, " is 0 everywhere")));
  }
  for (const bool brain : {true, false}) {
    std::vector<NamedView> tensors = tensors_of(f.set);
    const Tensor bias = Tensor::from<float>(std::vector<float>(7, 2000), {7});
    for (NamedView& t : tensors)
      if (t.name == "head.bias") t.view = bias;
    write_16_bits(f.weights, tensors, brain);
    CHECK(has(says(), concat("tensor 'head.bias': 7 words have a bias of 2000 or more, where ",
                             "numbers of ", brain ? "bfloat16" : "float16")));
    write_safetensors(f.weights, tensors);
    CHECK(says() == "");
  }
}

TEST_CASE("foreign: the tensors say which model it is") {
  const Notices notices;
  const Foreign f;
  f.say(kSaid);
  const auto lm = [&](const std::string& path) {
    return error_of([&] { LanguageModel::load(path); });
  };
  const auto mt = [&](const std::string& path) {
    return error_of([&] { Translator::load(path); });
  };
  const ForeignTranslation t;
  write_safetensors(t.weights, t.tensors("positions"));
  for (const char* name : {"src.dict.txt", "tgt.dict.txt"}) fs::remove(t.dir / name);
  t.dir.write("dict.txt", kWords);
  CHECK(has(mt(t.path), t.path + " lacks src.dict.txt, the dictionary of its model"));
  CHECK(has(lm(t.path), t.path + " is a translation model (mt_train, mt_translate), not a "));
  write_safetensors(f.weights, tensors_of(f.set));
  fs::remove(f.dir / "dict.txt");
  f.dir.write("src.dict.txt", kWords);
  f.dir.write("tgt.dict.txt", kWords);
  CHECK(has(lm(f.path), f.path + " lacks dict.txt, the dictionary of its model"));
  CHECK(has(mt(f.path), f.path + " is a language model (lm_train, lm_score), not a "));
  // Layers that do not begin with number 0, and an optimiser's tensors.
  f.dir.write("dict.txt", kWords);
  std::vector<NamedView> later = tensors_of(f.set);
  for (NamedView& tensor : later)
    if (const size_t at = tensor.name.find("layers.0."); at != std::string::npos)
      tensor.name.replace(at, 9, "layers.2.");
  write_safetensors(f.weights, later);
  CHECK(has(lm(f.path), "there is no tensor 'transformer.layers.0."));
  write_safetensors(f.weights, tensors_of(f.set, "adam.m."));
  CHECK(has(lm(f.path), f.path + ": the tensor 'adam.m.embedding.weight' is of an optimiser"));
  // A directory whose name occurs in every message.
  const TemporaryDirectory here;
  fs::create_directory(here / "e");
  fs::copy(f.path, here / "e", fs::copy_options::recursive);
  const fs::path before = fs::current_path();
  write_safetensors(here / "e/model.safetensors", {{"a.b", f.set.values()}});
  fs::current_path(here.path());
  const std::string said = lm("e");
  fs::current_path(before);
  CHECK(has(said, "e: there is no tensor 'embedding.weight'"));
}

TEST_CASE("foreign: what is advised fits the model") {
  const Notices notices;
  const ForeignTranslation f;
  write_safetensors(f.weights, f.tensors("positions"), {{"nine_version", "0.2.0"}});
  fs::remove(f.dir / "config.json");
  CHECK(
      has(error_of([&] { f.scores(); }),
          "\"heads\" and \"norm\", which tensors do not show: copy the config.json of the model's "
          "own run or checkpoint there"));
  write_safetensors(f.weights, f.tensors(nullptr));
  f.dir.write("config.json", R"({"heads": 2, "norm": "post", "positions": "sinusoidal",
                                 "max_length": 1000000000})");
  CHECK(has(error_of([&] { f.scores(); }),
            "config.json: the key 'max_length' is 1000000000, and a table of at most 1000000"));
  fs::rename(f.weights, f.dir / "model.pt");
  for (const std::string& path : {f.path, f.dir / "model.pt"})
    CHECK(has(error_of([&] { Translator::load(path); }),
              f.dir / "model.pt" + " is a safetensors file: rename it to model.safetensors"));
}

TEST_CASE("foreign: a model beside a run's checkpoints is read, and that is said") {
  const Notices notices;
  const Foreign f;
  f.say(kSaid);
  write_safetensors(f.weights, tensors_of(f.set));
  fs::create_directories(f.dir / "checkpoints/00000010");
  LanguageModel::load(f.path);
  REQUIRE(!notices.all.empty());
  CHECK(has(notices.all.front(), f.path +
                                     " has a model beside a run's checkpoints, and the "
                                     "checkpoints in " +
                                     f.dir / "checkpoints" + " were not read"));
}

}  // namespace nine::tests::test_foreign_models
