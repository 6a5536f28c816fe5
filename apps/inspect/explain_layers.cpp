// The layers' exact gradients in numbers. The examples call the ops directly, as the library's
// differentiable functions do, to show what is kept for backward: means, gates, normalisers.
#include <cmath>

#include "apps/inspect/explain.h"
#include "autograd/functions.h"
#include "core/ops.h"

namespace nine::app {
namespace {

using Doubles = std::vector<double>;

Tensor empty(const Shape& shape) { return Tensor(shape, DType::float64); }
// The loss of every example, sum(weights * y): dL/dy is then `weights`.
Var weighted(const Var& y, const Tensor& weights) {
  return sum(mul(y, y.tape().constant(weights)));
}

}  // namespace

WorkedExample explain_layer_norm() {
  constexpr double kEps = 1e-5;
  const Tensor x = Tensor::from<double>({1, 2, 6}, {1, 3}),
               gamma = Tensor::from<double>({1, 0.5, 2}, {3}),
               beta = Tensor::from<double>({0, 0.1, -0.1}, {3});
  const Tensor dy = Tensor::from<double>({1, -1, 0.5}, {1, 3}), y = empty({1, 3}),
               mean = empty({1}), rstd = empty({1});
  ops::layer_norm(x, gamma, beta, kEps, y, mean, rstd);
  const double m = mean.item(), r = rstd.item();
  WorkedExample example(
      "layer_norm: y = gamma (x - mean) r + beta, r = 1 / sqrt(variance + eps), eps = 1e-5");
  example.heading("A row of three numbers");
  example.line("x", "", x);
  example.line("gamma", "", gamma);
  example.line("beta", "", beta);
  example.heading("Forward");
  example.line("mean", "sum(x) / 3", m);
  example.line("r", "1 / sqrt(sum((x - mean)^2) / 3 + eps)", r);
  Doubles xhat = x.to_vector(), g = dy.to_vector();
  for (double& v : xhat) v = (v - m) * r;
  example.line("xhat", "(x - mean) r", xhat);
  example.line("y", "gamma xhat + beta", y);
  example.heading("Backward, from dL/dy as it comes from above");
  example.line("dL/dy", "", dy);
  double along = 0, total = 0;
  for (size_t k = 0; k < 3; ++k)
    g[k] *= gamma.to_vector()[k], total += g[k] / 3, along += g[k] * xhat[k] / 3;
  example.line("g", "gamma dL/dy", g);
  example.line("a", "sum(g) / 3", total);
  example.line("b", "sum(g xhat) / 3", along);
  const Tensor dx = empty({1, 3}), dgamma = empty({3}), dbeta = empty({3});
  ops::layer_norm_backward(x, gamma, mean, rstd, dy, {dx}, {dgamma}, {dbeta});
  example.line("dL/dx", "r (g - a - xhat b)", dx);
  example.line("dL/dgamma", "dL/dy xhat", dgamma);
  example.line("dL/dbeta", "dL/dy", dbeta);
  example.check(
      [&](std::span<const Var> v) { return weighted(layer_norm(v[0], v[1], v[2], kEps), dy); },
      {x, gamma, beta});
  return example;
}

WorkedExample explain_lstm() {
  constexpr int64_t kSteps = 2;
  const Tensor x = Tensor::from<double>({1, -0.5}, {kSteps, 1}),
               w_ih = Tensor::from<double>({0.5, -0.4, 1, 0.3}, {4, 1}),
               w_hh = Tensor::from<double>({0.2, 0.6, -0.5, 0.4}, {4, 1}),
               b_ih = Tensor::from<double>({0, 1, 0, 0}, {4}),
               b_hh = Tensor::from<double>({0.1, 0, -0.1, 0.2}, {4}),
               h0 = Tensor::from<double>({0.5}, {1, 1}), c0 = Tensor::from<double>({-0.25}, {1, 1});
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
  WorkedExample example("lstm: two steps of one cell; gates in the order i f g o");
  example.heading("Weights, the state before, two inputs");
  example.line("W_ih", "", w_ih);
  example.line("W_hh", "", w_hh);
  example.line("b_ih", "", b_ih);
  example.line("b_hh", "", b_hh);
  example.line("h_0", "", h0);
  example.line("c_0", "", c0);
  example.line("x", "x_1 and x_2", x);
  example.heading("Forward");
  for (int64_t t = 0; t < kSteps; ++t) {
    const std::string now = "_" + std::to_string(t + 1), before = "_" + std::to_string(t);
    Doubles a;
    for (size_t g = 0; g < 4; ++g)
      a.push_back(
          w_ih.to_vector()[g] * x.to_vector()[static_cast<size_t>(t)] + b_ih.to_vector()[g] +
          w_hh.to_vector()[g] * hidden.to_vector()[static_cast<size_t>(t)] + b_hh.to_vector()[g]);
    example.line("a" + now, concat("W_ih x", now, " + b_ih + W_hh h", before, " + b_hh"), a);
    example.line("ifgo" + now, "sigmoid, sigmoid, tanh, sigmoid of a" + now, row(gates, t));
    example.line("c" + now, concat("f c", before, " + i g"), row(cells, t + 1));
    example.line("h" + now, concat("o tanh c", now), row(hidden, t + 1));
  }
  example.heading("Backward, from L = h_2: the last step first");
  const Doubles gate = gates.to_vector(), c = cells.to_vector();
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
  // dh and dc of each step are computed here, because the op returns only those before the first
  // step, dh0 and dc0. A test compares both.
  double dh = 0, dc = 0;
  for (int64_t t = kSteps; t-- > 0;) {
    const std::string now = "_" + std::to_string(t + 1), next = "_" + std::to_string(t + 2);
    const auto at = static_cast<size_t>(t);
    const double o = gate[4 * at + 3], squashed = std::tanh(c[at + 1]);
    dh += dy.to_vector()[at];
    dc += dh * o * (1 - squashed * squashed);
    example.line("dL/dh" + now, t + 1 == kSteps ? "1, from the loss" : concat("W_hh' dL/da", next),
                 dh);
    example.line("dL/dc" + now,
                 concat(t + 1 == kSteps ? "" : concat("f", next, " dL/dc", next, " + "),
                        "dL/dh o (1 - tanh(c)^2)"),
                 dc);
    example.line("dL/da" + now, "dc g i(1-i), dc c_before f(1-f), dc i(1-g^2), dh tanh(c) o(1-o)",
                 row(gates, t));
    dc *= gate[4 * at + 1];
    dh = 0;
    for (size_t g = 0; g < 4; ++g) dh += w_hh.to_vector()[g] * gates.to_vector()[4 * at + g];
  }
  example.line("dL/dh_0", "W_hh' dL/da_1", dh0);
  example.line("dL/dc_0", "f_1 dL/dc_1", dc0);
  example.line("dL/dx", "W_ih' dL/da_t", dx);
  example.line("dL/dW_ih", "sum over t of dL/da_t x_t", dw_ih);
  example.line("dL/dW_hh", "sum over t of dL/da_t h_(t-1)", dw_hh);
  example.line("dL/db", "sum over t of dL/da_t, for both biases", db);
  example.check(
      [&](std::span<const Var> v) {
        return weighted(lstm(v[0], {v[1], v[2], v[3], v[4]}, {v[5], v[6]}).y, dy);
      },
      {x, w_ih, w_hh, b_ih, b_hh, h0, c0});
  return example;
}

WorkedExample explain_attention() {
  const Tensor q = Tensor::from<double>({1, 0.5}, {1, 2}),
               k = Tensor::from<double>({1, 0, -1, 2}, {2, 2}),
               v = Tensor::from<double>({2, 1, 0, -1}, {2, 2});
  const Tensor dy = Tensor::from<double>({1, -0.5}, {1, 2}), y = empty({1, 2}), lse = empty({1, 1});
  const ops::Attention io{.q = q, .k = k, .v = v, .y = y, .lse = lse};
  ops::attention(io);
  WorkedExample example(
      "attention: y = softmax(q k' / sqrt(n)) v, one head of n = 2 numbers, one query, two keys");
  example.heading("Query, keys, values");
  example.line("q", "", q);
  for (int64_t s = 0; s < 2; ++s) example.line(concat("k_", s + 1), "", row(k, s));
  for (int64_t s = 0; s < 2; ++s) example.line(concat("v_", s + 1), "", row(v, s));
  example.heading("Forward");
  const double scale = 1 / std::sqrt(2.0);
  const auto dot = [](const Doubles& a, const Doubles& b) { return a[0] * b[0] + a[1] * b[1]; };
  Doubles a, p, by_p, by_a;
  for (int64_t s = 0; s < 2; ++s)
    a.push_back(scale * dot(q.to_vector(), row(k, s))),
        p.push_back(std::exp(a.back() - lse.item()));
  example.line("a", "q.k_s / sqrt(2)", a);
  example.line("lse", "ln(e^a_1 + e^a_2): all that is kept for backward", lse);
  example.line("p", "e^(a_s - lse)", p);
  example.line("y", "p_1 v_1 + p_2 v_2", y);
  example.heading("Backward, from dL/dy as it comes from above");
  example.line("dL/dy", "", dy);
  const double all = dot(dy.to_vector(), y.to_vector());
  for (int64_t s = 0; s < 2; ++s) {
    by_p.push_back(dot(dy.to_vector(), row(v, s)));
    by_a.push_back(p[static_cast<size_t>(s)] * (by_p.back() - all));
  }
  example.line("dL/dp", "dL/dy.v_s", by_p);
  example.line("D", "dL/dy.y", all);
  example.line("dL/da", "p_s (dL/dp_s - D)", by_a);
  const Tensor dq = empty({1, 2}), dk = empty({2, 2}), dv = empty({2, 2});
  ops::attention_backward(io, {.dy = dy, .dq = {dq}, .dk = {dk}, .dv = {dv}});
  example.line("dL/dq", "(dL/da_1 k_1 + dL/da_2 k_2) / sqrt(2)", dq);
  for (int64_t s = 0; s < 2; ++s)
    example.line(concat("dL/dk_", s + 1), concat("dL/da_", s + 1, " q / sqrt(2)"), row(dk, s));
  for (int64_t s = 0; s < 2; ++s)
    example.line(concat("dL/dv_", s + 1), concat("p_", s + 1, " dL/dy"), row(dv, s));
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

}  // namespace nine::app
