// The layers' exact gradients in numbers. The examples call the ops directly, as the library's
// differentiable functions do, to show what is kept for backward: means, gates, normalisers.
#include <cmath>

#include "apps/inspect/explain.h"
#include "autograd/functions.h"
#include "core/ops.h"

namespace nine::app {
namespace {

Tensor empty(const Shape& shape) { return Tensor(shape, DType::float64); }
// The loss of every example, sum(weights * y): dL/dy is then `weights`.
Var weighted(const Var& y, const Tensor& weights) {
  return sum(mul(y, y.tape().constant(weights)));
}

// Numbers that were drawn, from the first on; else the usual ones.
Tensor drawn(const ShortNumbers& numbers, size_t first, const Shape& shape,
             std::initializer_list<double> usual) {
  return numbers.given() ? numbers(shape, first) : Tensor::from<double>(usual, shape);
}

// The gradients of step t, from those of step t + 1.
void lstm_backward_lines(WorkedExample& example, int64_t t, int64_t steps) {
  const std::string now = concat('_', t), next = concat('_', t + 1), before = concat('_', t - 1),
                    g = "ifgo" + now, by_c = "dL/dc" + now, by_h = "dL/dh" + now;
  const bool last = t == steps;
  example.step(by_h, last ? "1" : concat("W_hh.dL/da", next),
               last ? "L is h_2" : "chain rule: the next a has the slope W_hh by h");
  example.step(by_c,
               concat(by_h, "*", g, "[4]*(1 - tanh(c", now, ")^2)",
                      last ? "" : concat(" + dL/dc", next, "*ifgo", next, "[2]")),
               last ? "chain rule: tanh has the slope 1 - tanh^2"
                    : "chain rule: tanh has 1 - tanh^2; the next c has f: sum rule");
  example.step("dL/da" + now,
               concat("[", by_c, "*", g, "[3]*", g, "[1]*(1 - ", g, "[1]), ", by_c, "*c", before,
                      "*", g, "[2]*(1 - ", g, "[2]), ", by_c, "*", g, "[1]*(1 - ", g, "[3]^2), ",
                      by_h, "*tanh(c", now, ")*", g, "[4]*(1 - ", g, "[4])]"),
               "product rule and chain rule: sigmoid has s (1 - s)");
}

}  // namespace

WorkedExample explain_layer_norm(const ShortNumbers& numbers) {
  const double eps = numbers.given() ? 0 : 1e-5;  // a pencil's numbers come out without
  const Tensor x = drawn(numbers, 0, {1, 3}, {1, 2, 6}),
               gamma = drawn(numbers, 3, {3}, {1, 0.5, 2}),
               beta = drawn(numbers, 6, {3}, {0, 0.1, -0.1});
  const Tensor dy = drawn(numbers, 9, {1, 3}, {1, -1, 0.5}), y = empty({1, 3}), mean = empty({1}),
               rstd = empty({1});
  ops::layer_norm(x, gamma, beta, eps, y, mean, rstd);
  WorkedExample example(
      numbers, concat("layer_norm: y = gamma (x - mean) r + beta, r = 1 / sqrt(variance + eps), "
                      "eps = ",
                      eps == 0 ? "0" : "1e-5"));
  example.heading("A row of three numbers");
  example.given("x", x);
  example.given("gamma", gamma);
  example.given("beta", beta);
  example.heading("Forward");
  example.step("mean", "sum(x)/3", "");
  example.step("r", concat("1/sqrt(sum((x - mean)^2)/3", eps == 0 ? ")" : " + 0.00001)"),
               "one over the deviation");
  example.step("xhat", "(x - mean)*r", "of mean 0 and variance 1");
  example.step("y", "gamma*xhat + beta", "");
  example.agree("mean", mean);
  example.agree("r", rstd);
  example.agree("y", y);
  example.heading("Backward, from dL/dy as it comes from above");
  example.given("dL/dy", dy);
  const Tensor dx = empty({1, 3}), dgamma = empty({3}), dbeta = empty({3});
  ops::layer_norm_backward(x, gamma, mean, rstd, dy, {dx}, {dgamma}, {dbeta});
  example.step("g", "gamma*dL/dy", "dL/dxhat: y has the slope gamma by xhat");
  example.step("a", "sum(g)/3", "what moves all of xhat alike is taken off by the mean");
  example.step("b", "sum(g*xhat)/3", "r has the slope -r^2 xhat_k/3 by x_k: power and chain rule");
  example.step("dL/dx", "r*(g - a - xhat*b)",
               "product rule: xhat = (x - mean) r, with the slopes of x, mean and r");
  example.step("dL/dgamma", "dL/dy*xhat", "y has the slope xhat by gamma");
  example.step("dL/dbeta", "dL/dy", "and 1 by beta");
  example.agree("dL/dx", dx);
  example.agree("dL/dgamma", dgamma);
  example.agree("dL/dbeta", dbeta);
  example.check(
      [&](std::span<const Var> v) { return weighted(layer_norm(v[0], v[1], v[2], eps), dy); },
      {x, gamma, beta});
  return example;
}

WorkedExample explain_rms_norm(const ShortNumbers& numbers) {
  const double eps = numbers.given() ? 0 : 1e-5;
  const Tensor x = drawn(numbers, 0, {1, 3}, {1, 5, 7}),
               gamma = drawn(numbers, 3, {3}, {1, 0.5, 2}),
               dy = drawn(numbers, 6, {1, 3}, {1, -1, 0.5});
  const Tensor y = empty({1, 3}), rstd = empty({1}), dx = empty({1, 3}), dgamma = empty({3});
  ops::rms_norm(x, gamma, eps, y, rstd);
  WorkedExample example(numbers, concat("rms_norm: y = gamma x r, r = 1 / sqrt(mean of x^2 + eps), "
                                        "eps = ",
                                        eps == 0 ? "0" : "1e-5"));
  example.heading("A row of three numbers");
  example.given("x", x);
  example.given("gamma", gamma);
  example.heading("Forward");
  example.step("r", concat("1/sqrt(sum(x^2)/3", eps == 0 ? ")" : " + 0.00001)"),
               "one over the root of the mean square");
  example.step("xhat", "x*r", "of mean square 1");
  example.step("y", "gamma*xhat", "");
  example.agree("r", rstd);
  example.agree("y", y);
  example.heading("Backward, from dL/dy as it comes from above");
  example.given("dL/dy", dy);
  ops::rms_norm_backward(x, gamma, rstd, dy, {dx}, {dgamma});
  example.step("g", "gamma*dL/dy", "dL/dxhat: y has the slope gamma by xhat");
  example.step("b", "sum(g*xhat)/3", "r has the slope -r^2 xhat_k/3 by x_k: power and chain rule");
  example.step("dL/dx", "r*(g - xhat*b)", "product rule: xhat = x r, with the slopes of x and r");
  example.step("dL/dgamma", "dL/dy*xhat", "y has the slope xhat by gamma");
  example.agree("dL/dx", dx);
  example.agree("dL/dgamma", dgamma);
  example.check([&](std::span<const Var> v) { return weighted(rms_norm(v[0], v[1], eps), dy); },
                {x, gamma});
  return example;
}

WorkedExample explain_swiglu(const ShortNumbers& numbers) {
  const Tensor a = drawn(numbers, 0, {1, 2}, {1, -2}), b = drawn(numbers, 2, {1, 2}, {0.5, 3}),
               dy = drawn(numbers, 4, {1, 2}, {1, -1});
  const Tensor y = empty({1, 2}), da = empty({1, 2}), db = empty({1, 2});
  ops::gated(ops::Unary::silu, a, b, y);
  WorkedExample example(numbers, "swiglu: y = a s b, s = 1 / (1 + e^-a)");
  example.heading("The outputs of linear1 (a) and of linear3 (b)");
  example.given("a", a);
  example.given("b", b);
  example.heading("Forward");
  example.step("s", "1/(1 + exp(-a))", "the logistic function");
  example.step("y", "a*s*b", "");
  example.agree("y", y);
  example.heading("Backward, from dL/dy as it comes from above");
  example.given("dL/dy", dy);
  ops::gated_backward(ops::Unary::silu, a, b, dy, {da}, {db});
  example.step("slope", "s + a*s*(1 - s)", "of a s by a: product rule; s has the slope s (1 - s)");
  example.step("dL/da", "dL/dy*b*slope", "chain rule");
  example.step("dL/db", "dL/dy*a*s", "y has the slope a s by b");
  example.agree("dL/da", da);
  example.agree("dL/db", db);
  example.check([&](std::span<const Var> v) { return weighted(silu_gated(v[0], v[1]), dy); },
                {a, b});
  return example;
}

WorkedExample explain_geglu(const ShortNumbers& numbers) {
  const Tensor a = drawn(numbers, 0, {1, 2}, {1, -2}), b = drawn(numbers, 2, {1, 2}, {0.5, 3}),
               dy = drawn(numbers, 4, {1, 2}, {1, -1});
  const Tensor y = empty({1, 2}), da = empty({1, 2}), db = empty({1, 2});
  ops::gated(ops::Unary::gelu, a, b, y);
  WorkedExample example(numbers, "geglu: y = a P b, P = (1 + erf(a / sqrt(2))) / 2");
  example.heading("The outputs of linear1 (a) and of linear3 (b)");
  example.given("a", a);
  example.given("b", b);
  example.heading("Forward");
  example.step("P", "(1 + erf(a/sqrt(2)))/2", "the normal distribution's function");
  example.step("y", "a*P*b", "");
  example.agree("y", y);
  example.heading("Backward, from dL/dy as it comes from above");
  example.given("dL/dy", dy);
  ops::gated_backward(ops::Unary::gelu, a, b, dy, {da}, {db});
  example.step("f", "exp(-a*a/2)/sqrt(2*pi)", "the slope of P by a: the normal density");
  example.step("slope", "P + a*f", "of a P by a: product rule");
  example.step("dL/da", "dL/dy*b*slope", "chain rule");
  example.step("dL/db", "dL/dy*a*P", "y has the slope a P by b");
  example.agree("dL/da", da);
  example.agree("dL/db", db);
  example.check([&](std::span<const Var> v) { return weighted(gelu_gated(v[0], v[1]), dy); },
                {a, b});
  return example;
}

WorkedExample explain_rotary(const ShortNumbers& numbers) {
  // One head of two pairs: elements 1 and 3, 2 and 4. The angles have short cosines and sines.
  const Tensor x = drawn(numbers, 0, {1, 4}, {1, 2, -1, 3}),
               dy = drawn(numbers, 4, {1, 4}, {1, -1, 0.5, 2}),
               angles = Tensor::from<double>({0.6, 0.8, 0.8, 0.6}, {1, 4});
  const Tensor y = empty({1, 4}), dx = empty({1, 4});
  ops::rotary(x, angles, false, {y});
  WorkedExample example(numbers,
                        "rotary: pairs (u, v) of a head turn by the angle of the position");
  example.heading("A head of four numbers: u its first half, v its second half");
  example.given("u", x.col_range(0, 2));
  example.given("v", x.col_range(2, 2));
  example.given("c", angles.col_range(0, 2));
  example.given("s", angles.col_range(2, 2));
  example.heading("Forward");
  example.step("y_u", "u*c - v*s", "c and s: cosine and sine of the angle");
  example.step("y_v", "v*c + u*s", "");
  example.agree("y_u", y.col_range(0, 2));
  example.agree("y_v", y.col_range(2, 2));
  example.heading("Backward, from dL/dy as it comes from above");
  example.given("dL/dy_u", dy.col_range(0, 2));
  example.given("dL/dy_v", dy.col_range(2, 2));
  ops::rotary(dy, angles, true, {dx});
  example.step("dL/du", "dL/dy_u*c + dL/dy_v*s", "sum rule: u is in both");
  example.step("dL/dv", "dL/dy_v*c - dL/dy_u*s", "the rotation back");
  example.agree("dL/du", dx.col_range(0, 2));
  example.agree("dL/dv", dx.col_range(2, 2));
  example.check([&](std::span<const Var> v) { return weighted(rotary(v[0], angles, 4), dy); }, {x});
  return example;
}

WorkedExample explain_lstm(const ShortNumbers& numbers) {
  constexpr int64_t kSteps = 2;
  const Tensor x = drawn(numbers, 0, {kSteps, 1}, {1, -0.5}),
               w_ih = drawn(numbers, 2, {4, 1}, {0.5, -0.4, 1, 0.3}),
               w_hh = drawn(numbers, 6, {4, 1}, {0.2, 0.6, -0.5, 0.4}),
               b_ih = drawn(numbers, 10, {4}, {0, 1, 0, 0}),
               b_hh = drawn(numbers, 14, {4}, {0.1, 0, -0.1, 0.2}),
               h0 = drawn(numbers, 18, {1, 1}, {0.5}), c0 = drawn(numbers, 19, {1, 1}, {-0.25});
  const Tensor dy = Tensor::from<double>({0, 1}, {kSteps, 1}), hidden = empty({kSteps + 1, 1}),
               cells = empty({kSteps + 1, 1}), gates = empty({kSteps, 4});
  const ops::Lstm io{.x = x,
                     .w_ih = w_ih,
                     .w_hh = w_hh,
                     .b_ih = b_ih,
                     .b_hh = b_hh,
                     .h0 = h0,
                     .c0 = c0,
                     .hidden = hidden,
                     .cells = cells,
                     .gates = gates};
  Arena pool("kernel_inspect");
  ops::lstm(io, pool);
  WorkedExample example(numbers, "lstm: two steps of one cell; gates in the order i f g o");
  example.heading("Weights, the state before, two inputs");
  example.given("W_ih", w_ih);
  example.given("W_hh", w_hh);
  example.given("b_ih", b_ih);
  example.given("b_hh", b_hh);
  example.given("h_0", h0);
  example.given("c_0", c0);
  example.given("x", x);
  example.heading("Forward");
  for (int64_t t = 0; t < kSteps; ++t) {
    const std::string now = concat('_', t + 1), before = concat('_', t), gate = "ifgo" + now,
                      a = "a" + now;
    example.step(a, concat("W_ih*x[", t + 1, "] + b_ih + W_hh*h", before, " + b_hh"),
                 "all four gates");
    example.step(
        gate,
        concat("[sigmoid(", a, "[1]), sigmoid(", a, "[2]), tanh(", a, "[3]), sigmoid(", a, "[4])]"),
        "input, forget, cell, output");
    example.step("c" + now, concat(gate, "[2]*c", before, " + ", gate, "[1]*", gate, "[3]"),
                 "f c + i g");
    example.step("h" + now, concat(gate, "[4]*tanh(c", now, ")"), "o tanh c");
    example.agree(gate, row(gates, t));
    example.agree("c" + now, row(cells, t + 1));
    example.agree("h" + now, row(hidden, t + 1));
  }
  example.heading("Backward, from L = h_2: the last step first");
  const Tensor dx = empty({kSteps, 1}), dw_ih = empty({4, 1}), dw_hh = empty({4, 1}),
               db = empty({4}), db_hh = empty({4}), dh0 = empty({1, 1}), dc0 = empty({1, 1});
  ops::lstm_backward(io,
                     {.dy = dy,
                      .dx = {dx},
                      .dw_ih = {dw_ih},
                      .dw_hh = {dw_hh},
                      .db_ih = {db},
                      .db_hh = {db_hh},
                      .dh0 = {dh0},
                      .dc0 = {dc0}},
                     pool);
  for (int64_t t = kSteps; t > 0; --t) lstm_backward_lines(example, t, kSteps);
  example.step("dL/dh_0", "W_hh.dL/da_1", "chain rule: a_1 has the slope W_hh by h_0");
  example.step("dL/dc_0", "ifgo_1[2]*dL/dc_1", "c_1 has the slope f by c_0");
  example.step("dL/dx", "[W_ih.dL/da_1, W_ih.dL/da_2]", "chain rule: a has the slope W_ih by x");
  example.step("dL/dW_ih", "dL/da_1*x[1] + dL/da_2*x[2]", "a has the slope x: sum rule");
  example.step("dL/dW_hh", "dL/da_1*h_0 + dL/da_2*h_1", "a has the slope h_before: sum rule");
  example.step("dL/db", "dL/da_1 + dL/da_2", "both biases have the slope 1: sum rule");
  example.agree("dL/da_1", row(gates, 0));  // where the op leaves them
  example.agree("dL/da_2", row(gates, 1));
  example.agree("dL/dh_0", dh0);
  example.agree("dL/dc_0", dc0);
  example.agree("dL/dx", dx);
  example.agree("dL/dW_ih", dw_ih);
  example.agree("dL/dW_hh", dw_hh);
  example.agree("dL/db", db);
  example.check(
      [&](std::span<const Var> v) {
        return weighted(lstm(v[0], {v[1], v[2], v[3], v[4]}, {v[5], v[6]}).y, dy);
      },
      {x, w_ih, w_hh, b_ih, b_hh, h0, c0});
  return example;
}

WorkedExample explain_attention(const ShortNumbers& numbers) {
  const Tensor q = drawn(numbers, 0, {1, 2}, {1, 0.5}),
               k = drawn(numbers, 2, {2, 2}, {1, 0, -1, 2}),
               v = drawn(numbers, 6, {2, 2}, {2, 1, 0, -1});
  const Tensor dy = drawn(numbers, 10, {1, 2}, {1, -0.5}), y = empty({1, 2}), lse = empty({1, 1});
  const ops::Attention io{.q = q, .k = k, .v = v, .y = y, .lse = lse};
  ops::attention(io);
  WorkedExample example(
      numbers,
      "attention: y = softmax(q k' / sqrt(n)) v, one head of n = 2 numbers, one query, two keys");
  example.heading("Query, keys, values");
  example.given("q", q);
  for (int64_t s = 0; s < 2; ++s) example.given(concat("k_", s + 1), row(k, s));
  for (int64_t s = 0; s < 2; ++s) example.given(concat("v_", s + 1), row(v, s));
  example.heading("Forward");
  example.step("a", "[q.k_1, q.k_2]/sqrt(2)", "the scores");
  example.step("lse", "ln(sum(exp(a)))", "all that is kept for backward");
  example.step("p", "exp(a - lse)", "their softmax");
  example.step("y", "p[1]*v_1 + p[2]*v_2", "the mean of the values");
  example.agree("lse", lse);
  example.agree("y", y);
  example.heading("Backward, from dL/dy as it comes from above");
  example.given("dL/dy", dy);
  example.step("dL/dp", "[dL/dy.v_1, dL/dy.v_2]", "chain rule: y is linear in p");
  example.step("D", "dL/dy.y", "the sum of p_s dL/dp_s");
  example.step("dL/da", "p*(dL/dp - D)", "a softmax has the slopes p_s ([s = u] - p_u)");
  const Tensor dq = empty({1, 2}), dk = empty({2, 2}), dv = empty({2, 2});
  ops::attention_backward(io, {.dy = dy, .dq = {dq}, .dk = {dk}, .dv = {dv}});
  example.step("dL/dq", "(dL/da[1]*k_1 + dL/da[2]*k_2)/sqrt(2)",
               "chain rule: q.k has the slope k by q; sum rule");
  example.agree("dL/dq", dq);
  for (int64_t s = 0; s < 2; ++s) {
    const std::string key = concat("dL/dk_", s + 1), value = concat("dL/dv_", s + 1);
    example.step(key, concat("dL/da[", s + 1, "]*q/sqrt(2)"), "q.k has the slope q by k");
    example.step(value, concat("p[", s + 1, "]*dL/dy"), "y has the slope p_s by v_s");
    example.agree(key, row(dk, s));
    example.agree(value, row(dv, s));
  }
  Tensor kv({2, 4}, DType::float64);
  ops::copy(k, kv.col_range(0, 2));
  ops::copy(v, kv.col_range(2, 2));
  example.check(
      [&](std::span<const Var> x) {
        return weighted(attention(x[0], x[1], {.batch = 1, .heads = 1}), dy);
      },
      {q, kv});
  return example;
}

WorkedExample explain_grouped_attention(const ShortNumbers& numbers) {
  const Tensor q = drawn(numbers, 0, {1, 4}, {1, 0.5, -1, 2}),
               k = drawn(numbers, 4, {2, 2}, {1, 0, -1, 2}),
               v = drawn(numbers, 8, {2, 2}, {2, 1, 0, -1});
  const Tensor dy = drawn(numbers, 12, {1, 4}, {1, -0.5, 2, 1}), y = empty({1, 4}),
               lse = empty({2, 1});
  const ops::Attention io{.q = q, .k = k, .v = v, .y = y, .lse = lse, .heads = 2};
  ops::attention(io);
  WorkedExample example(numbers,
                        "grouped_attention: two heads of queries share one head of keys and values "
                        "of n = 2 numbers; one query, two keys");
  const auto head = [](const Tensor& t, int64_t h) { return t.col_range(2 * h - 2, 2); };
  example.heading("A query for each head, keys, values");
  for (int64_t h = 1; h <= 2; ++h) example.given(concat("q_", h), head(q, h));
  for (int64_t s = 1; s <= 2; ++s) example.given(concat("k_", s), row(k, s - 1));
  for (int64_t s = 1; s <= 2; ++s) example.given(concat("v_", s), row(v, s - 1));
  example.heading("Forward, each head as in attention");
  for (int64_t h = 1; h <= 2; ++h) {
    const std::string query = concat("q_", h), a = concat("a_", h), p = concat("p_", h);
    example.step(a, concat("[", query, ".k_1, ", query, ".k_2]/sqrt(2)"), "the scores");
    example.step(p, concat("exp(", a, ")/sum(exp(", a, "))"), "their softmax");
    example.step(concat("y_", h), concat(p, "[1]*v_1 + ", p, "[2]*v_2"), "the mean of the values");
    example.agree(concat("y_", h), head(y, h));
  }
  example.heading("Backward, from dL/dy as it comes from above");
  const Tensor dq = empty({1, 4}), dk = empty({2, 2}), dv = empty({2, 2});
  ops::attention_backward(io, {.dy = dy, .dq = {dq}, .dk = {dk}, .dv = {dv}});
  for (int64_t h = 1; h <= 2; ++h) example.given(concat("dL/dy_", h), head(dy, h));
  for (int64_t h = 1; h <= 2; ++h) {
    const std::string by_y = concat("dL/dy_", h), by_p = concat("dL/dp_", h),
                      by_a = concat("dL/da_", h), by_q = concat("dL/dq_", h);
    example.step(by_p, concat("[", by_y, ".v_1, ", by_y, ".v_2]"), "chain rule: y is linear in p");
    example.step(by_a, concat("p_", h, "*(", by_p, " - ", by_y, ".y_", h, ")"),
                 "a softmax has the slopes p_s ([s = u] - p_u)");
    example.step(by_q, concat("(", by_a, "[1]*k_1 + ", by_a, "[2]*k_2)/sqrt(2)"),
                 "chain rule: q.k has the slope k by q; sum rule");
    example.agree(by_q, head(dq, h));
  }
  for (int64_t s = 1; s <= 2; ++s) {
    const std::string key = concat("dL/dk_", s), value = concat("dL/dv_", s);
    example.step(key, concat("(dL/da_1[", s, "]*q_1 + dL/da_2[", s, "]*q_2)/sqrt(2)"),
                 "both heads read k: sum rule");
    example.step(value, concat("p_1[", s, "]*dL/dy_1 + p_2[", s, "]*dL/dy_2"),
                 "both heads read v: sum rule");
    example.agree(key, row(dk, s - 1));
    example.agree(value, row(dv, s - 1));
  }
  Tensor kv({2, 4}, DType::float64);
  ops::copy(k, kv.col_range(0, 2));
  ops::copy(v, kv.col_range(2, 2));
  example.check(
      [&](std::span<const Var> x) {
        return weighted(attention(x[0], x[1], {.batch = 1, .heads = 2, .kv_heads = 1}), dy);
      },
      {q, kv});
  return example;
}

}  // namespace nine::app
