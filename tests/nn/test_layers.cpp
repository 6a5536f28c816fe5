// The public layers: parameters by PyTorch's names, how they start, and the fused forms against the
// plain ones.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autograd/gradcheck.h"
#include "autograd/packed_weights.h"
#include "nn/feed_forward.h"
#include "nn/linear.h"
#include "nn/lstm.h"
#include "nn/multi_head_attention.h"
#include "nn/softmax_head.h"
#include "nn/transformer_decoder_layer.h"
#include "nn/transformer_encoder_layer.h"
#include "tests/support/compare.h"
#include "tests/support/support.h"

namespace nine::tests::test_layers {
namespace {

std::vector<std::string> names_of(const ParameterSet& set) {
  std::vector<std::string> names;
  for (const Parameter& p : set.all()) names.push_back(p.name);
  return names;
}

double largest(const Parameter& p) {
  double most = 0;
  for (const double x : p.value().to_vector()) most = std::max(most, std::abs(x));
  return most;
}

// Uniform values between -bound and bound.
void check_bound(ParameterSet& set, const char* name, double bound) {
  CAPTURE(name);
  CHECK(largest(set.at(name)) <= bound);
  CHECK(largest(set.at(name)) > 0.9 * bound);
}

// Values in [-1, 1) without a pattern.
Tensor some_values(const Shape& shape, uint64_t seed) {
  std::vector<double> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<double>(seed) + 12.9898 * static_cast<double>(i * i + 1));
  return Tensor::from(values, shape);
}

void check_close(const Var& a, const Var& b) {
  REQUIRE(a.shape() == b.shape());
  const std::vector<double> x = a.value().to_vector(), y = b.value().to_vector();
  for (size_t i = 0; i < x.size(); ++i) CHECK(x[i] == doctest::Approx(y[i]).epsilon(1e-12));
}

// The function between the linear maps of a feed-forward network; of a gated one, that of the gate.
double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::gelu:
    case Activation::geglu:
      return x / 2 * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case Activation::silu:
    case Activation::swiglu:
      return x / (1 + std::exp(-x));
  }
  FAIL("this test needs the activation's formula");
  return 0;
}

}  // namespace

TEST_CASE("layers: PyTorch's names, in the order of their declaration") {
  ParameterSet set;
  const TransformerLayerConfig config{.size = 8, .heads = 2, .inner = 12};
  const TransformerEncoderLayer encoder(set, "e", config);
  const TransformerDecoderLayer decoder(set, "d", config);
  const std::vector<std::string> attention{".in_proj_weight", ".in_proj_bias", ".out_proj.weight",
                                           ".out_proj.bias"},
      feed_forward{".linear1.weight", ".linear1.bias", ".linear2.weight", ".linear2.bias"};
  std::vector<std::string> expected;
  const auto expect = [&](const std::string& prefix, const std::vector<std::string>& names) {
    for (const std::string& name : names) expected.push_back(prefix + name);
  };
  expect("e.self_attn", attention);
  expect("e", feed_forward);
  for (const char* norm : {"e.norm1", "e.norm2"}) expect(norm, {".weight", ".bias"});
  expect("d.self_attn", attention);
  expect("d.multihead_attn", attention);
  expect("d", feed_forward);
  for (const char* norm : {"d.norm1", "d.norm2", "d.norm3"}) expect(norm, {".weight", ".bias"});
  CHECK(names_of(set) == expected);
}

TEST_CASE("layers: they start as in PyTorch, or as the Transformer's xavier_uniform") {
  ParameterSet set({.dtype = DType::float64});
  const MultiHeadAttention attention(set, "a", 16, 4),
      xavier(set, "x", 16, 4, LinearInit::xavier());
  const FeedForward feed(set, "f", 16, 36),
      feed_xavier(set, "g", 16, 36, Activation::relu, LinearInit::xavier());
  for (const char* name : {"a.in_proj_weight", "x.in_proj_weight"})
    check_bound(set, name, std::sqrt(6.0 / 64));
  check_bound(set, "a.out_proj.weight", 1 / std::sqrt(16.0));
  check_bound(set, "x.out_proj.weight", std::sqrt(6.0 / 32));
  check_bound(set, "f.linear1.weight", 1 / std::sqrt(16.0));
  check_bound(set, "f.linear2.bias", 1 / std::sqrt(36.0));
  check_bound(set, "g.linear2.weight", std::sqrt(6.0 / 52));
  for (const char* name :
       {"a.in_proj_bias", "a.out_proj.bias", "x.out_proj.bias", "g.linear1.bias"})
    CHECK(largest(set.at(name)) == 0);
}

TEST_CASE("layers: initialisers are arguments") {
  // GPT-2's: every matrix N(0, 0.02), biases 0.
  const LinearInit gpt2{.weight = Init::normal(0.02), .bias = Init::zeros()};
  ParameterSet set({.dtype = DType::float64});
  const TransformerEncoderLayer layer(set, "e",
                                      {.size = 32, .heads = 4, .inner = 48, .init = gpt2});
  const Lstm lstm(set, "lstm", 32, 24, 2, {.bias = Init::uniform(0.25)});
  const Linear half(set, "half", 64, 8, true, {.bias = Init::normal(3)});
  const SoftmaxHead head(set, "out", {.spec = parse_head("mix:2*lin"), .bias = true}, 50, 24,
                         Init::uniform(2));
  for (const char* name : {"e.self_attn.in_proj_weight", "e.self_attn.out_proj.weight",
                           "e.linear1.weight", "e.linear2.weight"}) {
    CAPTURE(name);
    const std::vector<double> values = set.at(name).value().to_vector();
    double square = 0;
    for (const double x : values) square += x * x;
    CHECK(std::sqrt(square / static_cast<double>(values.size())) ==
          doctest::Approx(0.02).epsilon(0.1));
    CHECK(largest(set.at(name)) > 0.04);
  }
  for (const char* name : {"e.self_attn.in_proj_bias", "e.self_attn.out_proj.bias",
                           "e.linear1.bias", "e.linear2.bias", "out.bias"})
    CHECK(largest(set.at(name)) == 0);
  check_bound(set, "lstm.weight_ih_l0",
              1 / std::sqrt(24.0));  // of the hidden size, as in torch.nn.LSTM
  check_bound(set, "lstm.weight_hh_l1", 1 / std::sqrt(24.0));
  check_bound(set, "lstm.bias_hh_l1", 0.25);
  check_bound(set, "half.weight", 1 / std::sqrt(64.0));
  CHECK(largest(set.at("half.bias")) > 1);
  check_bound(set, "out.weight", 2);
  check_bound(set, "out.prior.weight", 1 / std::sqrt(24.0));
}

TEST_CASE("layers: a feed-forward network of every activation: values, gradients, packed weights") {
  for (const auto& [named, name] : kEnumNames<Activation>.values) {
    const Activation activation = named;  // lambdas capture it; clang 14 captures no binding
    CAPTURE(to_text(activation));
    const LinearInit init{Init::normal(0.7), Init::normal(0.7)};
    ParameterSet set({.dtype = DType::float64, .seed = 3}),
        parts({.dtype = DType::float64, .seed = 3});
    const FeedForward feed(set, "f", 8, 12, activation, init);
    const Linear linear1(parts, "f.linear1", 8, 12, true, init),
        linear2(parts, "f.linear2", 12, 8, true, init);
    std::optional<Linear> linear3;
    if (is_gated(activation)) linear3.emplace(parts, "f.linear3", 8, 12, true, init);
    Arena arena("test");
    Tape tape(arena);
    const Tensor values = some_values({6, 8}, 1);
    const auto expected = [&] {
      const Var x = tape.constant(values), inner = linear1(x);
      std::vector<double> between = inner.value().to_vector();
      for (double& v : between) v = activated(activation, v);
      const Var f = tape.constant(Tensor::from(between, inner.shape()));
      return add(x, linear2(linear3 ? mul(f, (*linear3)(x)) : f)).value().to_vector();
    }();
    const auto found = [&] {
      const Var x = tape.constant(values);
      std::vector<double> y = feed.add_to(x, x, 0).value().to_vector();
      CHECK(relative_error(add(x, feed(x)).value().to_vector(), y) < 1e-14);
      return y;
    };
    CHECK(relative_error(found(), expected) < 1e-12);

    const Tensor factors = some_values({6, 8}, 2);
    const auto loss = [&](bool backward) {
      tape.reset();
      const Var x = tape.constant(values), y = feed.add_to(x, x, 0),
                sum_of = sum(mul(y, tape.constant(factors)));
      const double value = sum_of.value().item();
      if (backward) tape.backward(sum_of);
      return value;
    };
    set.zero_grad();
    loss(true);
    for (const Parameter& p : set.all()) {
      CAPTURE(p.name);
      const std::vector<double> grad = p.grad().to_vector();
      std::vector<double> quotients(grad.size());
      for (size_t i = 0; i < grad.size(); ++i) {
        double& at = p.value().data<double>()[i];
        const double before = at, step = 1e-5;
        at = before + step;
        const double above = loss(false);
        at = before - step;
        quotients[i] = (above - loss(false)) / (2 * step);
        at = before;
      }
      CHECK(relative_error(grad, quotients) < 1e-7);
    }
    const auto of_x = [&](std::span<const Var> x) { return feed.add_to(x[0], x[0], 0); };
    CHECK(gradcheck(of_x, {values}).worst < 1e-7);

    PackedWeights packed;
    feed.pack(packed);
    tape.reset();
    const NoGrad guard(tape);
    const UsePacked use(tape, packed);
    CHECK(relative_error(found(), expected) < 1e-12);
  }
}

TEST_CASE("layers: a softmax head by itself") {
  ParameterSet set({.dtype = DType::float64, .seed = 3});
  const SoftmaxHead head(set, "out", {.spec = parse_head("mix:2*lin,log"), .bias = true}, 7, 4,
                         Init::normal(1));
  Arena arena("test");
  Tape tape(arena);
  const Var h = tape.constant(some_values({3, 4}, 1));
  const Tensor targets = Tensor::from<int32_t>({6, -1, 0}, {3});
  const std::vector<double> log_p = head.log_probabilities(h).to_vector();
  double sum = 0;
  for (size_t v = 0; v < 7; ++v) sum += std::exp(log_p[v]);
  CHECK(sum == doctest::Approx(1).epsilon(1e-12));
  const double loss = head.loss(h, targets).value().item();
  CHECK(loss == doctest::Approx(-(log_p[6] + log_p[14]) / 2).epsilon(1e-12));
  const WordScores top = head.top_words(h, 2);
  CHECK(top.log_probs[0] == *std::max_element(log_p.begin(), log_p.begin() + 7));
  CHECK(has(error_of([&] {
              head.loss(h, Tensor::from<int32_t>({-1, -1, -1}, {3}));
            }),
            "no row has a target: all 3 are -1"));
  CHECK(has(error_of([&] { SoftmaxHead(set, "x", {.spec = parse_head("hpb")}, 5, 4); }),
            "was declared after a value of its set was used: make all layers first"));
}

TEST_CASE("parameters: their memory is made at the first use, whichever it is") {
  const auto made = [](auto&& use) {
    ParameterSet set({.dtype = DType::float64, .seed = 9});
    const Linear layer(set, "l", 3, 2);
    use(set, layer);
    CHECK(has(error_of([&] { set.add("late", {2}, Init::zeros()); }), "'late' was declared after"));
    return set.values().to_vector();
  };
  Arena arena("test");
  const std::vector<double> first = made([](ParameterSet& set, const Linear&) { set.values(); });
  CHECK(std::count(first.begin(), first.end(), 0.0) == std::ssize(first) - 8);  // the gaps
  CHECK(made([](ParameterSet& set, const Linear&) { set.at("l.bias").value(); }) == first);
  CHECK(made([](ParameterSet&, const Linear& layer) { layer.weight().grad(); }) == first);
  CHECK(made([](ParameterSet& set, const Linear&) { set.new_slab(); }) == first);
  CHECK(made([&](ParameterSet&, const Linear& layer) {
          Tape tape(arena);
          layer(tape.constant(some_values({1, 3}, 1)));
        }) == first);
  ParameterSet evaluated({.gradients = false});
  const Linear layer(evaluated, "l", 3, 2);
  CHECK_FALSE(layer.weight().grad());
  CHECK_FALSE(evaluated.gradients());
  CHECK(layer.weight().value().dtype() == DType::float32);
  CHECK(has(error_of([] { ParameterSet set({.dtype = DType::bfloat16}); }),
            "parameters are float32 or float64, not bfloat16"));
  ParameterSet set;
  CHECK(has(error_of([&] { set.add("v", {5}, Init::xavier_uniform()); }),
            "needs rows and columns, because its initial values depend on both"));
}

TEST_CASE("parameters: a gradient that backward did not reach is an Error, not the last step's") {
  ParameterSet set({.dtype = DType::float64});
  const Linear used(set, "used", 3, 2), other(set, "other", 3, 2);
  Arena arena("test");
  Tape tape(arena);
  const Var x = tape.constant(some_values({1, 3}, 1)), w = tape.parameter(other.weight());
  tape.backward(sum(used(x)));
  CHECK(tape.parameter(used.weight()).grad().elements() == 6);
  CHECK(has(error_of([&] { w.grad(); }), "no gradient reached this parameter of shape (2, 3)"));
}

TEST_CASE("layers: a residual branch in one op is the sum of residual and layer") {
  ParameterSet set({.dtype = DType::float64, .seed = 3});
  const MultiHeadAttention attention(set, "a", 8, 2);
  const FeedForward feed(set, "f", 8, 12);
  Arena arena("test");
  Tape tape(arena);
  const Var x = tape.constant(some_values({6, 8}, 1)), rest = tape.constant(some_values({6, 8}, 2)),
            memory = tape.constant(some_values({8, 8}, 3));
  const AttentionMask mask{.batch = 2, .causal = true};
  check_close(attention.add_to(rest, x, mask, 0), add(rest, attention(x, mask)));
  check_close(attention.add_to(rest, x, memory, {.batch = 2}, 0),
              add(rest, attention(x, memory, {.batch = 2})));
  check_close(feed.add_to(rest, x, 0), add(rest, feed(x)));
}

TEST_CASE("layers: attention's weights are dropped in training, and only there") {
  ParameterSet set({.dtype = DType::float64, .seed = 3});
  const MultiHeadAttention dropping(set, "a", 8, 2, {}, {}, 0.5);
  ParameterSet same({.dtype = DType::float64, .seed = 3});
  const MultiHeadAttention whole(same, "a", 8, 2);
  Arena arena("test");
  Tape tape(arena);
  const Var x = tape.constant(some_values({200, 8}, 1)),
            rest = tape.constant(Tensor({200, 8}, DType::float64));
  const AttentionMask mask{.batch = 2, .causal = true};
  {
    const NoGrad guard(tape);
    check_close(dropping.add_to(rest, x, mask, 0.5), whole.add_to(rest, x, mask, 0));
  }
  CHECK(dropping(x, mask).value().to_vector() != whole(x, mask).value().to_vector());
}

TEST_CASE("layers: both orders of norms, composed by hand") {
  for (const NormOrder order : {NormOrder::post, NormOrder::pre}) {
    ParameterSet set({.dtype = DType::float64, .seed = 5});
    const TransformerEncoderLayer layer(
        set, "e", {.size = 8, .heads = 2, .inner = 12, .style = {.norm = order}});
    ParameterSet parts(
        {.dtype = DType::float64, .seed = 5});  // the same parameters in separate layers
    const MultiHeadAttention attention(parts, "e.self_attn", 8, 2);
    const FeedForward feed(parts, "e", 8, 12);
    const LayerNorm norm1(parts, "e.norm1", 8), norm2(parts, "e.norm2", 8);
    Arena arena("test");
    Tape tape(arena);
    const Var x = tape.constant(some_values({6, 8}, 4));
    const AttentionMask mask{.batch = 3};
    if (order == NormOrder::post) {
      const Var y = norm1(add(x, attention(x, mask)));
      check_close(layer(x, mask), norm2(add(y, feed(y))));
    } else {
      const Var y = add(x, attention(norm1(x), mask));
      check_close(layer(x, mask), add(y, feed(norm2(y))));
    }
  }
}

TEST_CASE("layers: what cannot be is an Error") {
  ParameterSet set({.dtype = DType::float64});
  CHECK(
      has(error_of([&] { MultiHeadAttention(set, "a", 10, 4); }), "does not divide into 4 heads"));
  CHECK(has(error_of([&] { MultiHeadAttention(set, "b", 12, 6, {}, {}, 0, {.kv_heads = 4}); }),
            "6 heads of queries cannot share 4 heads of keys evenly"));
}

}  // namespace nine::tests::test_layers
