// The Transformer language model: against plain loops over its parameters, cached keys and values
// against the whole window, windows over longer texts, and lm_train and lm_score from the outside.
// Against PyTorch: tests/clients/transformer_lm_pytorch.py.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "core/json.h"
#include "core/safetensors.h"
#include "nn/models/language_model.h"
#include "nn/models/score_text.h"
#include "nn/models/sentence_scores.h"
#include "nn/models/transformer_language_model.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_transformer_lm {
namespace {

using Strings = std::vector<std::string>;
using Doubles = std::vector<double>;
using Ints = std::vector<int32_t>;
using Config = TransformerLanguageModelConfig;

Config tiny() {
  return {.vocab = 11,
          .layers = 2,
          .hidden = 6,
          .ffn = 10,
          .heads = 2,
          .window = 8,
          .dropout = 0,
          .head = {.bias = true}};
}

struct Model {
  ParameterSet parameters;
  TransformerLanguageModel network;
  explicit Model(const Config& c, DType dtype = DType::float64)
      : parameters({.dtype = dtype, .seed = 4}), network(parameters, c) {
    // Far from the small start, so that every part counts.
    const Tensor& values = parameters.values();
    RandomStream random({.seed = 9, .op = stream_id("test")});
    if (dtype == DType::float64)
      for (int64_t i = 0; i < values.elements(); ++i)
        values.data<double>()[i] = 0.6 * (random.uniform() - 0.5);
  }
};

Ints some_ids(int64_t count, int64_t vocab) {
  Ints ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>((i * i + 3 * i) % vocab));
  return ids;
}

// The head's input for ids (steps, batch), row t * batch + b.
Doubles encoded(const LanguageNetwork& network, const Ints& ids, int64_t steps, int64_t batch) {
  Arena arena("test");
  Tape tape(arena);
  const NoGrad guard(tape);
  std::vector<LstmState> state;
  return network.encode(tape, Tensor::from(ids, {steps, batch}), state).value().to_vector();
}

// --- the network in plain loops, of one sequence

using Rows = std::vector<Doubles>;

class Plain {
 public:
  Plain(ParameterSet& set, const Config& c) : set_(set), c_(c) {}

  Rows run(const Ints& ids) const {
    const Rows x = layers(ids, c_.layers);
    return c_.final_norm.value_or(!post()) ? norm(x, "transformer.norm") : x;
  }
  // The last layer's weights, mean over heads.
  Doubles last_attention(const Ints& ids) const {
    const std::string layer = concat("transformer.layers.", c_.layers - 1);
    Doubles mean(ids.size() * ids.size());
    const Rows x = layers(ids, c_.layers - 1);
    attend(post() ? x : norm(x, layer + ".norm1"), layer + ".self_attn", &mean);
    return mean;
  }

 private:
  Rows layers(const Ints& ids, int64_t count) const {
    const Doubles words = at("embedding.weight");
    Rows x;
    for (size_t t = 0; t < ids.size(); ++t) {
      x.emplace_back();
      for (size_t i = 0; i < width(); ++i)
        x[t].push_back(words[static_cast<size_t>(ids[t]) * width() + i] * factor() +
                       position(t, i));
    }
    for (int64_t l = 0; l < count; ++l) {
      const std::string layer = concat("transformer.layers.", l);
      add(x, attend(post() ? x : norm(x, layer + ".norm1"), layer + ".self_attn"));
      if (post()) x = norm(x, layer + ".norm1");
      const Rows read = post() ? x : norm(x, layer + ".norm2");
      Rows inner = linear(read, layer + ".linear1.weight", layer + ".linear1.bias");
      for (Doubles& row : inner)
        for (double& v : row) v = activated(v);
      if (is_gated(c_.style.activation)) {
        const Rows up = linear(read, layer + ".linear3.weight", layer + ".linear3.bias");
        for (size_t t = 0; t < inner.size(); ++t)
          for (size_t k = 0; k < inner[t].size(); ++k) inner[t][k] *= up[t][k];
      }
      add(x, linear(inner, layer + ".linear2.weight", layer + ".linear2.bias"));
      if (post()) x = norm(x, layer + ".norm2");
    }
    return x;
  }
  size_t width() const { return static_cast<size_t>(c_.hidden); }
  bool post() const { return c_.style.norm == NormOrder::post; }
  double factor() const {
    if (c_.embed_scale) return *c_.embed_scale;
    return c_.style.positions == Positions::sinusoidal ? std::sqrt(static_cast<double>(c_.hidden))
                                                       : 1;
  }
  Doubles at(const std::string& name) const { return set_.at(name).value().to_vector(); }
  double position(size_t t, size_t i) const {
    if (c_.style.positions == Positions::learned) return at("positions.weight")[t * width() + i];
    if (c_.style.positions == Positions::rotary) return 0;
    const size_t half = width() / 2, pair = i % half;
    const double angle = static_cast<double>(t) /
                         std::pow(10000.0, static_cast<double>(pair) / static_cast<double>(half));
    return i < half ? std::sin(angle) : std::cos(angle);
  }
  double activated(double v) const {
    if (c_.style.activation == Activation::relu) return std::max(v, 0.0);
    if (c_.style.activation == Activation::silu || c_.style.activation == Activation::swiglu)
      return v / (1 + std::exp(-v));
    if (c_.style.activation == Activation::gelu || c_.style.activation == Activation::geglu)
      return v * 0.5 * (1 + std::erf(v / std::sqrt(2.0)));
    const double z = std::sqrt(2 / std::acos(-1.0)) * (v + 0.044715 * v * v * v);
    return v * 0.5 * (1 + std::tanh(z));
  }
  static void add(Rows& x, const Rows& y) {
    for (size_t t = 0; t < x.size(); ++t)
      for (size_t i = 0; i < x[t].size(); ++i) x[t][i] += y[t][i];
  }
  static void rms_norm(double* x, const Doubles& gamma) {
    double mean = 0;
    for (size_t i = 0; i < gamma.size(); ++i)
      mean += x[i] * x[i] / static_cast<double>(gamma.size());
    for (size_t i = 0; i < gamma.size(); ++i) x[i] *= gamma[i] / std::sqrt(mean + 1e-5);
  }
  Rows norm(const Rows& x, const std::string& name) const {
    if (c_.style.norm_type == NormType::rms) {
      Rows y = x;
      for (Doubles& row : y) rms_norm(row.data(), at(name + ".weight"));
      return y;
    }
    const Doubles gamma = at(name + ".weight"), beta = at(name + ".bias");
    Rows y = x;
    for (Doubles& row : y) {
      double mean = 0, variance = 0;
      for (const double v : row) mean += v / static_cast<double>(row.size());
      for (const double v : row)
        variance += (v - mean) * (v - mean) / static_cast<double>(row.size());
      for (size_t i = 0; i < row.size(); ++i)
        row[i] = (row[i] - mean) / std::sqrt(variance + 1e-5) * gamma[i] + beta[i];
    }
    return y;
  }
  Rows linear(const Rows& x, const std::string& weight, const std::string& bias) const {
    const Doubles w = at(weight);
    const Doubles b = c_.style.linear_bias ? at(bias) : Doubles(w.size() / x.front().size());
    Rows y;
    for (const Doubles& row : x) {
      y.push_back(b);
      for (size_t o = 0; o < b.size(); ++o)
        for (size_t i = 0; i < row.size(); ++i) y.back()[o] += w[o * row.size() + i] * row[i];
    }
    return y;
  }
  Rows attend(const Rows& x, const std::string& name, Doubles* mean = nullptr) const {
    Rows qkv = linear(x, name + ".in_proj_weight", name + ".in_proj_bias");
    const size_t d = width(), heads = static_cast<size_t>(c_.heads), size = d / heads,
                 kv = c_.style.kv_heads > 0 ? static_cast<size_t>(c_.style.kv_heads) : heads;
    for (size_t t = 0; t < x.size(); ++t)
      for (size_t h = 0; h < heads + kv; ++h) {  // queries, then keys
        double* head = qkv[t].data() + h * size;
        if (c_.style.qk_norm)
          rms_norm(head, at(name + (h < heads ? ".q_norm.weight" : ".k_norm.weight")));
        for (size_t i = 0; c_.style.positions == Positions::rotary && i < size / 2; ++i) {
          const double angle = static_cast<double>(t) *
                               std::pow(c_.style.rotary_base,
                                        -2 * static_cast<double>(i) / static_cast<double>(size));
          const std::complex<double> turned =
              std::polar(1.0, angle) * std::complex<double>(head[i], head[size / 2 + i]);
          head[i] = turned.real();
          head[size / 2 + i] = turned.imag();
        }
      }
    Rows y(x.size(), Doubles(d));
    for (size_t h = 0; h < heads; ++h)
      for (size_t t = 0; t < x.size(); ++t) {
        Doubles p;
        double sum = 0;
        for (size_t s = 0; s <= t; ++s) {
          double score = 0;
          for (size_t i = 0; i < size; ++i)
            score += qkv[t][h * size + i] * qkv[s][d + h * kv / heads * size + i];
          p.push_back(std::exp(score / std::sqrt(static_cast<double>(size))));
          sum += p.back();
        }
        for (size_t s = 0; mean != nullptr && s <= t; ++s)
          (*mean)[t * x.size() + s] += p[s] / sum / static_cast<double>(heads);
        for (size_t s = 0; s <= t; ++s)
          for (size_t i = 0; i < size; ++i)
            y[t][h * size + i] += p[s] / sum * qkv[s][d + (kv + h * kv / heads) * size + i];
      }
    return linear(y, name + ".out_proj.weight", name + ".out_proj.bias");
  }

  ParameterSet& set_;
  Config c_;
};

// Styles that GPT-2 does not have: each choice alone or with others.
std::vector<TransformerStyle> other_styles() {
  const TransformerStyle gpt2 = TransformerStyle::gpt2(), llama = TransformerStyle::llama();
  std::vector<TransformerStyle> all(7, gpt2);
  all[0].norm_type = NormType::rms;
  all[1].activation = Activation::silu;
  all[2].activation = Activation::geglu;
  all[3].positions = Positions::rotary;
  all[3].rotary_base = 50;
  all[4].kv_heads = 2;
  all[4].linear_bias = false;
  all[4].activation = Activation::relu;
  all[5].qk_norm = true;
  all[5].norm = NormOrder::post;
  all[6] = llama;
  all.push_back(llama);
  all.back().kv_heads = 1;
  all.back().qk_norm = true;
  all.back().norm = NormOrder::post;
  return all;
}
// Those, and the styles of the first networks.
std::vector<TransformerStyle> styles() {
  std::vector<TransformerStyle> all = other_styles();
  all.push_back(TransformerStyle::gpt2());
  all.push_back({.activation = Activation::gelu, .norm = NormOrder::pre});
  all.push_back({.activation = Activation::gelu, .positions = Positions::learned});
  return all;
}

void check_close(const Doubles& found, const Doubles& expected, double limit) {
  REQUIRE(found.size() == expected.size());
  double worst = 0;
  for (size_t i = 0; i < found.size(); ++i)
    worst = std::max(worst, std::abs(found[i] - expected[i]));
  CHECK(worst < limit);
}

// --- the programs

// A small training; what `more` names takes the place of what is here.
Strings flags(const std::string& run, const Strings& more = {}) {
  const std::vector<std::pair<const char*, const char*>> usual{{"--sample-sentences", "400"},
                                                               {"--arch", "transformer"},
                                                               {"--layers", "2"},
                                                               {"--hidden", "16"},
                                                               {"--heads", "2"},
                                                               {"--bptt", "12"},
                                                               {"--batch", "6"},
                                                               {"--lr", "0.01"},
                                                               {"--warmup", "10"},
                                                               {"--log-every", "10"}};
  Strings all{"--sample", "--run", run};
  for (const auto& [name, value] : usual)
    if (std::find(more.begin(), more.end(), name) == more.end())
      all.insert(all.end(), {name, value});
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

void train(const std::string& run, const Strings& more = {}) {
  const Outcome r = run_program("lm_train", flags(run, more));
  REQUIRE_MESSAGE(r.code == 0, r.err);
}

std::string score(const std::string& run, const Strings& more, const std::string& text) {
  Strings all{"--checkpoint", run};
  all.insert(all.end(), more.begin(), more.end());
  const Outcome r = run_program("lm_score", all, text);
  REQUIRE_MESSAGE(r.code == 0, r.err);
  return r.out;
}

std::string refused(const Strings& more) {
  const TemporaryDirectory dir;
  const Outcome r = run_program("lm_train", flags(dir / "run", more));
  CHECK(r.code == 2);
  return r.err;
}

}  // namespace

TEST_CASE("transformer LM: the network is what plain loops over its parameters compute") {
  for (const TransformerStyle& style : other_styles()) {
    Config c = tiny();
    c.hidden = 16;
    c.heads = 4;
    c.style = style;
    Model model(c);
    const Plain plain(model.parameters, c);
    const int64_t steps = 7, batch = 2;
    const Ints ids = some_ids(steps * batch, c.vocab);
    const Doubles found = encoded(model.network, ids, steps, batch);
    for (int64_t b = 0; b < batch; ++b) {
      Ints own;
      for (int64_t t = 0; t < steps; ++t) own.push_back(ids[static_cast<size_t>(t * batch + b)]);
      const Rows expected = plain.run(own);
      for (int64_t t = 0; t < steps; ++t) {
        const auto row = found.begin() + (t * batch + b) * c.hidden;
        check_close({row, row + c.hidden}, expected[static_cast<size_t>(t)], 1e-11);
      }
    }
    Arena arena("test");
    Tape tape(arena);
    const Ints few = some_ids(6, c.vocab);
    check_close(model.network.attention(tape, few), plain.last_attention(few), 1e-12);
  }
  for (const Activation activation : {Activation::gelu, Activation::gelu_tanh, Activation::relu})
    for (int kind = 0; kind < 5; ++kind) {
      Config c = tiny();
      c.style.activation = activation;
      c.style.positions = kind % 2 == 0 ? Positions::learned : Positions::sinusoidal;
      if (kind >= 2) c.style.norm = NormOrder::post;
      if (kind >= 3) c.final_norm = true;
      if (kind == 4) c.embed_scale = 1.7;
      Model model(c);
      const Plain plain(model.parameters, c);
      const int64_t steps = 7, batch = 3;
      const Ints ids = some_ids(steps * batch, c.vocab);
      const Doubles found = encoded(model.network, ids, steps, batch);
      for (int64_t b = 0; b < batch; ++b) {
        Ints own;
        for (int64_t t = 0; t < steps; ++t) own.push_back(ids[static_cast<size_t>(t * batch + b)]);
        const Rows expected = plain.run(own);
        for (int64_t t = 0; t < steps; ++t) {
          const auto row = found.begin() + (t * batch + b) * c.hidden;
          check_close({row, row + c.hidden}, expected[static_cast<size_t>(t)], 1e-11);
        }
      }
    }
}

TEST_CASE("transformer LM: gradients of all parameters against finite differences") {
  for (const bool tied : {false, true})
    for (TransformerStyle style : styles()) {
      Config c = tiny();
      c.layers = 1;
      c.hidden = 16;
      c.heads = 4;
      c.tie_embeddings = tied;
      style.norm = tied ? NormOrder::post : NormOrder::pre;
      c.style = style;
      c.temporal_activation_reg = 0.3;
      c.activation_reg = 0.2;
      Model model(c);
      const Tensor ids = Tensor::from(some_ids(10, c.vocab), {5, 2}),
                   targets = Tensor::from(some_ids(10, 7), {5, 2});
      Arena arena("test");
      Tape tape(arena);
      const auto loss_now = [&](bool backward) {
        tape.reset();
        std::vector<LstmState> state;
        const auto hidden = model.network.run(tape, ids, state);
        const Var loss = add(model.network.loss(hidden.output, targets, 0.1).loss,
                             model.network.regulariser(hidden, 2, 1));
        const double value = loss.value().item();
        if (backward) tape.backward(loss);
        return value;
      };
      model.parameters.zero_grad();
      loss_now(true);
      // The head forms its gradients on the way forward: all are read before any other step.
      std::vector<Doubles> grads;
      for (const Parameter& p : model.parameters.all()) grads.push_back(p.grad().to_vector());
      for (size_t n = 0; n < grads.size(); ++n) {
        const Parameter& p = model.parameters.all()[n];
        const Doubles& grad = grads[n];
        double* value = static_cast<double*>(p.value().view().data);
        for (size_t i = 0; i < grad.size(); i += 7) {
          const double before = value[i], step = 1e-5;
          value[i] = before + step;
          const double above = loss_now(false);
          value[i] = before - step;
          const double below = loss_now(false);
          value[i] = before;
          CHECK_MESSAGE(std::abs(grad[i] - (above - below) / (2 * step)) < 1e-8, p.name, " ", i);
        }
      }
    }
}

TEST_CASE("transformer LM: layers that are computed again train to the same bits, in less memory") {
  const TemporaryDirectory dir;
  for (const char* arch : {"transformer", "llama"}) {
    const auto run = [&](const std::string& name, Strings more) {
      more.insert(more.end(), {"--arch", arch, "--after", "6u", "--dropout", "0.2", "--accumulate",
                               "2", "--threads", "1"});
      train(dir / (name + arch), more);
      return weights_of(dir / (name + arch));
    };
    CHECK(run("kept", {}) == run("again", {"--recompute"}));
  }
  // Of 8 layers, a step keeps the input of each and the activations of one.
  const auto used = [](bool recompute) {
    Config c = tiny();
    c.layers = 8;
    c.recompute = recompute;
    Model model(c);
    const Tensor ids = Tensor::from(some_ids(40, c.vocab), {8, 5});
    Arena arena("test");
    Tape tape(arena);
    std::vector<LstmState> state;
    model.network.run(tape, ids, state);
    return arena.saved_mark();
  };
  CHECK(used(true) < used(false) / 4);
}

TEST_CASE("transformer LM: read word by word, it gives what the whole window gives") {
  for (const TransformerStyle& style : styles()) {
    constexpr int64_t kHalf = 4;
    Config c = tiny();
    c.hidden = 16;
    c.heads = 4;
    c.window = 2 * kHalf;
    c.style = style;
    Model model(c);
    const int64_t steps = 21, batch = 3, width = c.hidden;
    const Ints ids = some_ids(steps * batch, c.vocab);
    const auto decoder = model.network.decoder();
    Arena arena("test");
    Tape tape(arena);
    const NoGrad guard(tape);
    for (int round = 0; round < 2; ++round) {  // the second after another start()
      decoder->start(batch);
      for (int64_t t = 0; t < steps; ++t) {
        tape.reset();
        std::vector<DecoderRow> rows;
        for (int32_t b = 0; b < batch; ++b)
          rows.push_back({b, ids[static_cast<size_t>(t * batch + b)]});
        const Doubles found = decoder->step(tape, rows).value().to_vector();
        // The window begins anew, with its later half, whenever it is full.
        const int64_t first = t < c.window ? 0 : (t / kHalf - 1) * kHalf, seen = t + 1 - first;
        const Doubles whole =
            encoded(model.network, {ids.begin() + first * batch, ids.begin() + (t + 1) * batch},
                    seen, batch);
        check_close(found, {whole.end() - batch * width, whole.end()}, 1e-12);
      }
    }
  }
}

TEST_CASE("transformer LM: attention is that of the plain loops, and training logs it") {
  for (const NormOrder norm : {NormOrder::pre, NormOrder::post}) {
    Config c = tiny();
    c.style.norm = norm;
    Model model(c);
    const Plain plain(model.parameters, c);
    const Ints ids = some_ids(6, c.vocab);
    Arena arena("test");
    Tape tape(arena);
    check_close(model.network.attention(tape, ids), plain.last_attention(ids), 1e-12);
  }
  const TemporaryDirectory dir;
  train(dir / "run", {"--after", "10u"});
  int sentences = 0;
  for (const Json& e : log_of(dir / "run")) {
    if (e["event"] != "attention") continue;
    ++sentences;
    CHECK(e["read"][0] == "</s>");
    CHECK(e["predicted"].back() == "</s>");
    CHECK(e["attention"].size() == e["predicted"].size());
    for (size_t t = 0; t < e["attention"].size(); ++t) {
      int64_t sum = 0;
      for (size_t s = 0; s < e["read"].size(); ++s) {
        const int64_t share = e["attention"][t][s];
        sum += share;
        if (s > t) CHECK(share == 0);
      }
      CHECK(std::abs(sum - 1000) < 15);
    }
  }
  CHECK(sentences == 4);
  CHECK(has(slurp(dir / "run/report.html"), "<h2>Attention"));
}

TEST_CASE("transformer LM: training cuts what is longer than the window, each part on its own") {
  const Config c = tiny();
  const Model model(c);
  const Ints ids = some_ids(19 * 2, c.vocab);
  const Doubles whole = encoded(model.network, ids, 19, 2);
  Doubles parts;
  for (const auto& [first, count] : {std::pair{0, 8}, {8, 8}, {16, 3}}) {
    const Doubles part = encoded(
        model.network, {ids.begin() + first * 2, ids.begin() + (first + count) * 2}, count, 2);
    parts.insert(parts.end(), part.begin(), part.end());
  }
  check_close(whole, parts, 1e-15);
}

TEST_CASE("transformer LM: the right padding of a batch of sentences changes nothing") {
  const Config c = tiny();
  const Model model(c);
  const Ints ids = some_ids(4, c.vocab);
  Ints padded;
  for (int64_t t = 0; t < 7; ++t) {
    padded.push_back(static_cast<int32_t>(t));
    padded.push_back(t < 4 ? ids[static_cast<size_t>(t)] : 0);
  }
  const Doubles alone = encoded(model.network, ids, 4, 1),
                both = encoded(model.network, padded, 7, 2);
  for (int64_t t = 0; t < 4; ++t)
    for (int64_t i = 0; i < c.hidden; ++i)
      CHECK(both[static_cast<size_t>((t * 2 + 1) * c.hidden + i)] ==
            doctest::Approx(alone[static_cast<size_t>(t * c.hidden + i)]).epsilon(1e-12));
}

TEST_CASE("transformer LM: initial values have the deviation that is asked for") {
  for (const auto& [asked, expected] : {std::pair{0.02, 0.02}, {0.0, 0.125}, {0.3, 0.3}}) {
    Config c = tiny();
    c.layers = 2;
    c.hidden = 64;
    c.heads = 4;
    c.ffn = 256;
    c.init_std = asked;
    const Model model(c, DType::float32);
    const auto deviation = [&](const std::string& name) {
      double squares = 0;
      Doubles values;
      for (const Parameter& p : model.parameters.all())
        if (p.name == name) values = p.value().to_vector();
      REQUIRE(values.size() > 1000);
      for (const double x : values) squares += x * x;
      return std::sqrt(squares / static_cast<double>(values.size()));
    };
    const std::string layer = "transformer.layers.1.";
    for (const char* name : {"linear1.weight", "self_attn.in_proj_weight"})
      CHECK(deviation(layer + name) == doctest::Approx(expected).epsilon(0.05));
    for (const char* name : {"linear2.weight", "self_attn.out_proj.weight"})
      CHECK(deviation(layer + name) == doctest::Approx(expected / 2).epsilon(0.05));
  }
}

TEST_CASE("transformer LM: sizes that do not fit are refused") {
  const auto says = [](auto&& change) {
    Config c = tiny();
    change(c);
    ParameterSet set;
    return error_of([&] { TransformerLanguageModel(set, c); });
  };
  CHECK(has(says([](Config& c) { c.heads = 4; }), "not divisible by number of attention heads 4"));
  CHECK(has(says([](Config& c) {
              c.hidden = 9;
              c.heads = 3;
              c.style.positions = Positions::sinusoidal;
            }),
            "must be even"));
  CHECK(has(says([](Config& c) { c.window = 0; }), "at least one position"));
}

TEST_CASE(
    "transformer LM: lm_train trains it, and a run in two parts has the bits of a whole one") {
  const TemporaryDirectory dir;
  train(dir / "whole", {"--after", "60u", "--head", "mix:2*lin", "--threads", "1"});
  train(dir / "parts", {"--after", "23u", "--head", "mix:2*lin", "--threads", "2"});
  train(dir / "parts", {"--after", "60u", "--head", "mix:2*lin", "--threads", "1"});
  CHECK(weights_of(dir / "whole") == weights_of(dir / "parts"));
  double first = 0, last = 0;
  for (const Json& e : log_of(dir / "whole"))
    if (e["event"] == "train") (first == 0 ? first : last) = e["ppl"];
  CHECK(last < 0.9 * first);
  const Safetensors model = read_safetensors(dir / "whole/checkpoints/best/model.safetensors");
  CHECK(model.at("positions.weight").shape() == Shape{12, 16});
  CHECK(model.at("transformer.layers.1.self_attn.in_proj_weight").shape() == Shape{48, 16});
  CHECK(model.at("transformer.layers.0.linear1.weight").shape() == Shape{64, 16});
  CHECK(model.metadata.at("arch") == "transformer");
  const Json config = parse_json_object(slurp(dir / "whole/config.json"));
  CHECK(config["arch"] == "transformer");
  CHECK(config["schedule"] == "inverse-sqrt");
  CHECK(config["ffn"] == 64);
}

TEST_CASE("transformer LM: margins, norms, sampled softmax, lazy Adam go on to the same bits" *
          doctest::test_suite("check")) {
  const TemporaryDirectory dir;
  int number = 0;
  for (const Strings& more :
       {Strings{"--margin", "arc:0.1", "--word-norm", "log-rank", "--context-norm", "max"},
        Strings{"--margin", "cos:0.1", "--head", "mix:2*lin", "--context-norm", "max:ema"},
        Strings{"--sampled-softmax", "50", "--lazy-adam", "--tie-embeddings"},
        Strings{"--head", "rbf:gamma=learn:0.05", "--label-smoothing", "0.1"},
        Strings{"--accumulate", "2", "--untied", "--head", "mix:2*lin", "--pi-reg", "cv2:0.1"}}) {
    const std::string name = dir / std::to_string(number++);
    const auto all = [&](Strings now) {
      now.insert(now.end(), more.begin(), more.end());
      return now;
    };
    train(name + "whole", all({"--after", "20u", "--threads", "1"}));
    train(name + "parts", all({"--after", "9u", "--threads", "2"}));
    train(name + "parts", all({"--after", "20u", "--threads", "1"}));
    CHECK(weights_of(name + "whole") == weights_of(name + "parts"));
    const auto log_p = LanguageModel::load(name + "whole").score({"the cat saw the dog"});
    for (const double x : log_p[0]) CHECK(x < 0);
  }
}

TEST_CASE("transformer LM: what lm_score does with it" * doctest::test_suite("check")) {
  const TemporaryDirectory dir;
  const std::string run = dir / "run",
                    text =
                        "the old dog saw a cat\n\nthe cat\nthe old dog saw the cat and the old "
                        "man saw the cat and the dog saw the man today\n";
  train(run, {"--after", "30u", "--head", "mix:lin,log", "--tie-embeddings", "--positions",
              "sinusoidal", "--activation", "gelu-tanh", "--dtype", "float64"});
  const std::string tokens = score(run, {"--tokens"}, text);
  // Neither the batch nor what else is in it changes a number.
  CHECK(score(run, {"--tokens", "--batch-tokens", "1"}, text) == tokens);
  CHECK(score(run, {"--components"}, text).size() > 0);
  const LanguageModel model = LanguageModel::load(run);
  REQUIRE(model.network().window() == 12);
  SUBCASE("the likeliest words are those of the log-probabilities") {
    const auto log_p = model.score({"the cat"});
    const auto top = model.top_words({"the cat"}, 3);
    for (size_t t = 0; t < 3; ++t)
      CHECK(top[0][t].log_p == doctest::Approx(log_p[0][t]).epsilon(1e-12));
    CHECK(has(score(run, {"--top", "2"}, "the cat\n"), "the\t"));
  }
  SUBCASE("generated texts do not depend on the batch, and their probabilities are the scorer's") {
    const Strings more{"--generate", "--samples", "5", "--max-words", "30", "--seed", "3"};
    const std::string all = score(run, more, "the\na dog\n");
    Strings one = more;
    one.insert(one.end(), {"--batch", "1"});
    CHECK(score(run, one, "the\na dog\n") == all);
    // Longer than the window: the greedy word is the scorer's likeliest at every position.
    const std::string text40 =
        model.generate({"the"}, {.sampling = {.temperature = 0}, .max_words = 40})[0];
    const auto expected = model.top_words({text40}, 2);
    std::istringstream words(text40);
    std::string word;
    words >> word;
    for (size_t t = 1; words >> word; ++t) {
      const auto& top = expected[0][t].top;
      const bool unknown_first = top[0] == Specials::kLanguageModel.unknown;
      CHECK(word == model.vocabulary().word(top[unknown_first ? 1 : 0]));
    }
  }
  SUBCASE("compared with an LSTM, and rescored") {
    const Outcome lstm = run_program(
        "lm_train", {"--sample", "--sample-sentences", "400", "--layers", "1", "--hidden", "16",
                     "--embed", "16", "--after", "10u", "--run", dir / "lstm"});
    REQUIRE_MESSAGE(lstm.code == 0, lstm.err);
    const Outcome compared = run_program("lm_score", {"--compare", run, dir / "lstm"}, text);
    CHECK_MESSAGE(compared.code == 0, compared.err);
    const Outcome same = run_program("lm_score", {"--compare", run, run}, text);
    CHECK(same.code == 0);
    // What lm_rescore scores hypotheses with.
    const Strings hypotheses{"the cat saw a dog", "the", "the cat saw a dog"};
    const SentenceScores scores = score_sentences_once({run}, hypotheses, {});
    CHECK(scores.distinct == 2);
    const auto log_p = model.score(hypotheses);
    for (size_t i = 0; i < hypotheses.size(); ++i)
      CHECK(scores.log_p[i] ==
            doctest::Approx(std::accumulate(log_p[i].begin(), log_p[i].end(), 0.0)).epsilon(1e-12));
  }
  SUBCASE("with its metadata alone it opens, too") {
    const std::filesystem::path best = std::filesystem::path(run) / "checkpoints/best";
    std::filesystem::create_directory(dir / "bare");
    for (const char* file : {"model.safetensors", "dict.txt"})
      std::filesystem::copy_file(best / file, std::filesystem::path(dir / "bare") / file);
    CHECK(score(dir / "bare", {"--tokens"}, text) == tokens);
  }
  SUBCASE("validation's perplexity is that of the carried text") {
    std::string longer;
    for (int i = 0; i < 40; ++i) longer += "the old dog saw a cat\nthe cat saw the old man today\n";
    const std::string file = dir.write("text", longer), other = dir / "other";
    const Outcome trained = run_program(
        "lm_train", {"--arch",  "transformer", "--layers", "1",  "--hidden", "16", "--ffn",   "16",
                     "--heads", "2",           "--bptt",   "12", "--batch",  "2",  "--after", "30u",
                     "--train", file,          "--valid",  file, "--run",    other});
    REQUIRE_MESSAGE(trained.code == 0, trained.err);
    char expected[64];
    std::snprintf(expected, sizeof expected, "perplexity %.5f",
                  log_of(other).back()["best_valid_ppl"].get<double>());
    const Outcome carried =
        run_program("lm_score", {"--checkpoint", other, "--carry-state"}, longer);
    CHECK(carried.code == 0);
    CHECK_MESSAGE(has(carried.err, expected), carried.err);
    CHECK(!has(run_program("lm_score", {"--checkpoint", other}, longer).err, expected));
  }
}

TEST_CASE("transformer LM: lm_score --window reads each window of the text alone") {
  const TemporaryDirectory dir;
  train(dir / "run", {"--after", "8u", "--dtype", "float64", "--positions", "rotary"});
  const LanguageModel model = LanguageModel::load(dir / "run");
  const Strings lines{"the old dog saw a cat", "", "the cat", "the old man saw the dog today"};
  const Corpus text = Corpus::of_lines(lines, model.vocabulary());
  constexpr int64_t kWindow = 5;
  Doubles expected;
  Arena arena("test");
  Tape tape(arena);
  for (int64_t first = 0; first < text.tokens(); first += kWindow) {
    const NoGrad guard(tape);
    const int64_t rows = std::min(kWindow, text.tokens() - first);
    const auto own = text.flat().subspan(static_cast<size_t>(first), static_cast<size_t>(rows));
    Ints input{first > 0 ? text.flat()[static_cast<size_t>(first - 1)] : 0};
    input.insert(input.end(), own.begin(), own.end() - 1);
    std::vector<LstmState> state;
    const Var hidden = model.network().encode(tape, Tensor::from(input, {rows, 1}), state);
    const Tensor targets = Tensor::from(Ints(own.begin(), own.end()), {rows, 1});
    for (const double nats : model.network().loss(hidden, targets, 1).nll.value().to_vector())
      expected.push_back(nats);
    tape.reset();
  }
  for (const int64_t batch_tokens : {1, 11, 4096}) {
    Doubles found;
    score_text(
        model, text, {.batch_tokens = batch_tokens, .window = kWindow},
        [&](std::span<const double> nats) { found.insert(found.end(), nats.begin(), nats.end()); });
    check_close(found, expected, 1e-12);
  }
  const auto says = [&](const Strings& more) {
    Strings all{"--checkpoint", dir / "run"};
    all.insert(all.end(), more.begin(), more.end());
    return run_program("lm_score", all, "the cat\n").err;
  };
  CHECK(has(says({"--window", "13"}), "longer than the model's, which has 12 positions"));
  CHECK(has(says({"--window", "3", "--carry-state"}), "leave one of them out"));
  CHECK(has(says({"--window", "3", "--flush"}), "leave one of them out"));
}

TEST_CASE("transformer LM: dropout and attention's dropout act in training, and only there") {
  const TemporaryDirectory dir;
  const auto losses = [&](const std::string& name, const Strings& more) {
    Strings all{"--after", "2u", "--log-every", "1"};
    all.insert(all.end(), more.begin(), more.end());
    train(dir / name, all);
    std::vector<double> found = trained_numbers(dir / name, "loss");
    REQUIRE(found.size() == 2);
    return found;
  };
  const auto none = losses("none", {"--dropout", "0"}),
             same = losses("same", {"--dropout", "0", "--attention-dropout", "0"}),
             some = losses("some", {"--dropout", "0.5", "--attention-dropout", "0"}),
             attention = losses("attention", {"--dropout", "0", "--attention-dropout", "0.5"});
  CHECK(none == same);
  for (const auto& other : {some, attention}) CHECK(other != none);
  CHECK(some != attention);
  // A model that had dropout scores a text the same way twice.
  CHECK(score(dir / "some", {"--tokens"}, "the cat\n") ==
        score(dir / "some", {"--tokens"}, "the cat\n"));
}

TEST_CASE(
    "transformer LM: --norm post is trained, kept, opened and a start for --norm post alone") {
  const TemporaryDirectory dir;
  train(dir / "whole", {"--after", "12u", "--norm", "post", "--threads", "1"});
  train(dir / "parts", {"--after", "5u", "--norm", "post"});
  train(dir / "parts", {"--after", "12u", "--norm", "post"});
  CHECK(weights_of(dir / "whole") == weights_of(dir / "parts"));
  const std::filesystem::path best = dir / "whole/checkpoints/best";
  const Safetensors model = read_safetensors(best / "model.safetensors");
  CHECK(model.metadata.at("norm") == "post");
  CHECK(!model.tensors.contains("transformer.norm.weight"));
  // The metadata alone say it, too.
  std::filesystem::create_directory(dir / "bare");
  for (const char* file : {"model.safetensors", "dict.txt"})
    std::filesystem::copy_file(best / file, std::filesystem::path(dir / "bare") / file);
  CHECK(score(dir / "bare", {}, "the cat\n") == score(dir / "whole", {}, "the cat\n"));
  train(dir / "on", {"--after", "2u", "--norm", "post", "--init", dir / "whole"});
  const Outcome other = run_program(
      "lm_train",
      flags(dir / "other", {"--after", "2u", "--norm", "pre", "--init", dir / "whole"}));
  CHECK(other.code == 2);
  CHECK(has(other.err, "--norm pre contradicts --init"));
}

TEST_CASE("transformer LM: --arch llama trains, resumes, is opened by its metadata, generates") {
  const TemporaryDirectory dir;
  const Strings llama{"--arch", "llama", "--kv-heads", "1", "--qk-norm", "--rotary-base", "500"};
  const auto with = [&](Strings more) {
    more.insert(more.end(), llama.begin(), llama.end());
    return more;
  };
  train(dir / "whole", with({"--after", "12u", "--threads", "1"}));
  train(dir / "parts", with({"--after", "5u"}));
  train(dir / "parts", with({"--after", "12u"}));
  CHECK(weights_of(dir / "whole") == weights_of(dir / "parts"));
  const std::filesystem::path best = dir / "whole/checkpoints/best";
  const Safetensors model = read_safetensors(best / "model.safetensors");
  const std::map<std::string, std::string> said{
      {"positions", "rotary"},  {"activation", "swiglu"}, {"norm_type", "rms"},  {"kv_heads", "1"},
      {"linear_bias", "false"}, {"qk_norm", "true"},      {"rotary_base", "500"}};
  for (const auto& s : said) CHECK_MESSAGE(model.metadata.at(s.first) == s.second, s.first);
  const std::string layer = "transformer.layers.1.";
  CHECK(model.at(layer + "self_attn.in_proj_weight").shape() == Shape{32, 16});
  CHECK(model.at(layer + "self_attn.q_norm.weight").shape() == Shape{8});
  CHECK(model.at(layer + "linear3.weight").shape() == Shape{48, 16});  // 8/3 * 16, up to 8s
  for (const char* name : {"norm1.bias", "linear1.bias", "self_attn.in_proj_bias"})
    CHECK(!model.tensors.contains(layer + name));
  CHECK(!model.tensors.contains("positions.weight"));
  std::filesystem::create_directory(dir / "bare");
  for (const char* file : {"model.safetensors", "dict.txt"})
    std::filesystem::copy_file(best / file, std::filesystem::path(dir / "bare") / file);
  const std::string text = "the cat saw the dog and the old man saw a cat here\n";
  CHECK(score(dir / "bare", {}, text) == score(dir / "whole", {}, text));
  CHECK(has(score(dir / "bare", {"--generate", "--max-words", "30"}, "the cat\n"), "the cat"));
  const Json config = parse_json(slurp(dir / "whole/config.json"));
  CHECK(config["arch"] == "transformer");
  CHECK(config["norm_type"] == "rms");
  // The options of config.json alone make the same run, and options replace the preset's.
  train(dir / "again", {"--after", "12u", "--threads", "1", "--norm-type", "rms", "--positions",
                        "rotary", "--rotary-base", "500", "--activation", "swiglu", "--kv-heads",
                        "1", "--qk-norm", "--no-linear-bias"});
  CHECK(weights_of(dir / "whole") == weights_of(dir / "again"));
  train(dir / "own", {"--after", "1u", "--arch", "llama", "--norm-type", "layer", "--linear-bias"});
  CHECK(read_safetensors(dir / "own/checkpoints/best/model.safetensors")
            .tensors.contains(layer + "norm1.bias"));
  train(dir / "on", with({"--after", "2u", "--init", dir / "whole"}));
  const Outcome other = run_program(
      "lm_train", flags(dir / "other",
                        with({"--after", "2u", "--rotary-base", "400", "--init", dir / "whole"})));
  CHECK(other.code != 0);
}

TEST_CASE("transformer LM: styles that do not fit are refused") {
  CHECK(has(refused({"--arch", "llama", "--heads", "16"}),
            "make heads of 1 numbers: rotary positions (--positions) rotate pairs"));
  CHECK(has(refused({"--kv-heads", "3"}), "--kv-heads 3 does not divide --heads 2"));
  CHECK(has(refused({"--rotary-base", "7"}), "--rotary-base has no effect here"));
  CHECK(has(refused({"--arch", "lstm", "--hidden", "16", "--heads", "8", "--norm-type", "rms"}),
            "--norm-type is for --arch transformer"));
  CHECK(has(refused({"--norm-type", "batch"}), "--norm-type batch: not one of layer, rms"));
  const auto says = [](auto&& change) {
    Config c = tiny();
    change(c);
    ParameterSet set;
    return error_of([&] { TransformerLanguageModel(set, c); });
  };
  CHECK(has(says([](Config& c) { c.style.kv_heads = 3; }), "cannot share 3 heads of keys evenly"));
  CHECK(has(says([](Config& c) {
              c.style.positions = Positions::rotary;
              c.hidden = 6;
              c.heads = 2;
            }),
            "heads of 3 numbers: rotary positions rotate pairs"));
}

TEST_CASE("transformer LM: sentences of their own, longer ones than the window too") {
  const TemporaryDirectory dir;
  train(dir / "run", {"--after", "20u", "--sentences", "--bptt", "6", "--ar", "1", "--tar", "1",
                      "--dropout-output", "0.1", "--dropout-words", "0.1"});
  CHECK(has(score(dir / "run", {}, "the old dog saw a cat and the old man\n"), "-"));
}

TEST_CASE("transformer LM: options of the other network are refused; defaults are its own") {
  CHECK(has(refused({"--embed", "16"}), "--embed is for --arch lstm"));
  CHECK(has(refused({"--variational"}), "--variational is for --arch lstm"));
  CHECK(has(refused({"--dropout-hidden", "0.1"}), "--dropout-hidden is for --arch lstm"));
  CHECK(has(refused({"--heads", "3"}), "--hidden 16 is not divisible by --heads 3"));
  CHECK(has(refused({"--arch", "lstm"}), "--heads is for --arch transformer"));
  CHECK(has(refused({"--norm", "behind"}), "--norm behind: not one of post, pre"));
  const auto dumped = [](const Strings& arguments) {
    const Outcome r = run_program("lm_train", arguments);
    REQUIRE(r.code == 0);
    return parse_json_object(r.out);
  };
  const Json usual = dumped({"--dump-config"});
  CHECK(usual["arch"] == "lstm");
  CHECK(usual["schedule"] == "constant");
  CHECK(usual["bptt"] == 35);
  const Json transformer = dumped({"--arch", "transformer", "--dump-config"});
  CHECK(transformer["schedule"] == "inverse-sqrt");
  CHECK(transformer["bptt"] == 128);
  CHECK(transformer["ffn"] == 2048);
  CHECK(transformer["warmup"].get<int64_t>() > 0);
  const Json given = dumped({"--arch", "transformer", "--schedule", "constant", "--warmup", "0",
                             "--bptt", "35", "--dump-config"});
  CHECK(given["schedule"] == "constant");
  CHECK(given["warmup"] == 0);
  CHECK(given["bptt"] == 35);
  // What was dumped is read back as it was, defaults of the LSTM too.
  const TemporaryDirectory dir;
  dir.write("given.json", given.dump());
  CHECK(dumped({"--config", dir / "given.json", "--dump-config"}) == given);
  // What follows another flag follows one that the command line gives beside a file.
  const Strings file{"--config", dir.write("run.json", transformer.dump()), "--dump-config"};
  const Json wider = dumped(joined(file, {"--hidden", "64", "--dropout", "0.2"}));
  CHECK(wider["ffn"] == 256);
  CHECK(wider["attention_dropout"] == 0.2);
  const Json own = dumped(joined(file, {"--hidden", "64", "--ffn", "100"}));
  CHECK(own["ffn"] == 100);
  CHECK(own["attention_dropout"] == transformer["attention_dropout"]);
}

TEST_CASE("transformer LM: defaults of a file's --arch give way to those of the command line's") {
  const TemporaryDirectory dir;
  const auto dumped = [](const Strings& arguments) {
    const Outcome r = run_program("lm_train", joined(arguments, {"--dump-config"}));
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return parse_json_object(r.out);
  };
  const auto file = [&](const Strings& arguments) {
    return dir.write("file.json", dumped(arguments).dump());
  };
  const Strings archs[] = {{"--arch", "lstm"}, {"--arch", "transformer"}, {"--arch", "llama"}};
  for (const Strings& of_file : archs)
    for (const Strings& typed : archs) {
      if (of_file[1] == "llama") continue;  // its file is that of a Transformer with other values
      CAPTURE(of_file[1]);
      CAPTURE(typed[1]);
      CHECK(dumped(joined({"--config", file(of_file)}, typed)) == dumped(typed));
    }
  // What the file gives beside defaults stays.
  const Json own = dumped(joined({"--config", file({"--bptt", "50", "--lr", "0.5"})}, archs[2]));
  CHECK(own["bptt"] == 50);
  CHECK(own["lr"] == 0.5);
  CHECK(own["positions"] == "rotary");
  // The same --arch again changes nothing.
  const std::string llama = file({"--arch", "llama", "--positions", "learned", "--warmup", "0"});
  CHECK(dumped({"--config", llama, "--arch", "transformer"}) == dumped({"--config", llama}));
  CHECK(dumped({"--config", llama, "--hidden", "96"})["ffn"] == 256);
  // A llama whose values are all those of GPT-2.
  Json gpt2 = dumped({});
  gpt2["arch"] = "llama";
  const Outcome r =
      run_program("lm_train", {"--config", dir.write("gpt2.json", gpt2.dump()), "--dump-config"});
  CHECK(r.code == 2);
  CHECK_MESSAGE(has(r.err, "--arch llama has no effect"), r.err);
  const Outcome tiny =
      run_program("lm_train", {"--train", "x", "--arch", "llama", "--rotary-base", "1e-320"});
  CHECK_MESSAGE(has(tiny.err, "--rotary-base 1e-320: is too small for float32"), tiny.err);
  // So it is with --optimizer and --schedule, and with --after for --schedule-length.
  const std::string usual = file({});
  CHECK(dumped({"--config", usual, "--optimizer", "lion"})["betas"] == Json{0.9, 0.99});
  CHECK(dumped({"--config", usual, "--optimizer", "muon"})["momentum"] == 0.95);
  CHECK(dumped({"--config", usual, "--schedule", "cosine"})["min_lr"] == Json(0.1 * 1e-3));
  const std::string lion = file({"--optimizer", "lion"});
  CHECK(dumped({"--config", lion, "--optimizer", "adam"})["betas"] == Json{0.9, 0.999});
  CHECK(dumped({"--config", lion, "--lr", "0.5"})["betas"] == Json{0.9, 0.99});
  const std::string cosine = file({"--schedule", "cosine", "--after", "4e"});
  CHECK(dumped({"--config", cosine, "--after", "9e"})["schedule_length"] == "9e");
  CHECK(dumped({"--config", cosine, "--after", "9e", "--schedule-length",
                "4e"})["schedule_length"] == "4e");
}

}  // namespace nine::tests::test_transformer_lm
