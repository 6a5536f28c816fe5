// The public layers: parameters by PyTorch's names, how they start, and the fused forms against the
// plain ones.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "nn/feed_forward.h"
#include "nn/linear.h"
#include "nn/multi_head_attention.h"
#include "nn/transformer_decoder_layer.h"
#include "nn/transformer_encoder_layer.h"
#include "tests/support.h"

using namespace nine;
using namespace nine::tests;

namespace {

std::vector<std::string> names_of(const ParameterSet& set) {
  std::vector<std::string> names;
  for (const Parameter& p : set.all()) names.push_back(p.name);
  return names;
}

double largest(const Parameter& p) {
  double most = 0;
  for (const double x : p.value.to_vector()) most = std::max(most, std::abs(x));
  return most;
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
  ParameterSet set;
  const MultiHeadAttention attention(set, "a", 16, 4), xavier(set, "x", 16, 4, LinearInit::xavier);
  const FeedForward feed(set, "f", 16, 36), feed_xavier(set, "g", 16, 36, LinearInit::xavier);
  set.allocate(DType::float64, 1);
  const auto bound = [&](const char* name, double most) {
    CAPTURE(name);
    CHECK(largest(set.at(name)) <= most);
    CHECK(largest(set.at(name)) > 0.9 * most);
  };
  for (const char* name : {"a.in_proj_weight", "x.in_proj_weight"})
    bound(name, std::sqrt(6.0 / 64));
  bound("a.out_proj.weight", 1 / std::sqrt(16.0));
  bound("x.out_proj.weight", std::sqrt(6.0 / 32));
  bound("f.linear1.weight", 1 / std::sqrt(16.0));
  bound("f.linear2.bias", 1 / std::sqrt(36.0));
  bound("g.linear2.weight", std::sqrt(6.0 / 52));
  for (const char* name :
       {"a.in_proj_bias", "a.out_proj.bias", "x.out_proj.bias", "g.linear1.bias"})
    CHECK(largest(set.at(name)) == 0);
}

TEST_CASE("layers: a residual branch in one op is the sum of residual and layer") {
  ParameterSet set;
  const MultiHeadAttention attention(set, "a", 8, 2);
  const FeedForward feed(set, "f", 8, 12);
  set.allocate(DType::float64, 3);
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

TEST_CASE("layers: both orders of norms, composed by hand") {
  for (const NormOrder order : {NormOrder::post, NormOrder::pre}) {
    ParameterSet set;
    const TransformerEncoderLayer layer(set, "e",
                                        {.size = 8, .heads = 2, .inner = 12, .norm = order});
    set.allocate(DType::float64, 5);
    ParameterSet parts;  // the same parameters in separate layers
    const MultiHeadAttention attention(parts, "e.self_attn", 8, 2);
    const FeedForward feed(parts, "e", 8, 12);
    const LayerNorm norm1(parts, "e.norm1", 8), norm2(parts, "e.norm2", 8);
    parts.allocate(DType::float64, 5);
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
  ParameterSet set;
  CHECK(
      has(error_of([&] { MultiHeadAttention(set, "a", 10, 4); }), "does not divide into 4 heads"));
  const Linear plain(set, "l", 3, 2, false);
  set.allocate(DType::float64, 1);
  Arena arena("test");
  Tape tape(arena);
  const Var x = tape.constant(some_values({1, 3}, 1));
  CHECK(has(error_of([&] { plain.relu(x); }), "'l.weight' has no bias"));
}
