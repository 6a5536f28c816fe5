// Worked examples of one context and three words: the kernel softmax, the softmax alone, and a
// mixture.
#include <cmath>

#include "apps/inspect/explain.h"
#include "apps/inspect/explain_formula.h"
#include "apps/inspect/score_at.h"
#include "autograd/functions.h"
#include "kernels/expression/formula.h"
#include "kernels/kernel_softmax.h"
#include "kernels/scores/all.h"

namespace nine::app {
namespace {

using Doubles = std::vector<double>;

constexpr int64_t kWords = 3;
constexpr const char* kSubscript[] = {"_1", "_2", "_3"};

Doubles probabilities(const HeadSpec& head, const Var& h, const HeadWeights& weights) {
  Doubles p = log_probabilities(head, h, weights).to_vector();
  for (double& x : p) x = std::exp(x);
  return p;
}

// A line for each row of a matrix: name_1, name_2, ...
void row_lines(WorkedExample& example, const char* name, const Tensor& rows) {
  for (int64_t r = 0; r < rows.shape().rows(); ++r)
    example.line(concat(name, "_", r + 1), "", row(rows, r));
}

// The other variables of a formula, and its slopes through all of them.
void formula_lines(WorkedExample& example, const scores::Expr& kernel, double ww, double hh,
                   double z, const std::string& v) {
  using expression::Variable;
  if (kernel.formula->uses(Variable::ww)) example.line("ww" + v, "|w|^2", ww);
  if (kernel.formula->uses(Variable::hh)) example.line("hh" + v, "|h|^2", hh);
  if (kernel.formula->uses(Variable::c))
    example.line("c" + v, "z/(|w||h|)", z / std::sqrt(ww * hh));
  const auto slopes = kernel.slopes(z, &ww, &hh);
  example.line("A" + v, "dS/dz at fixed |w|, |h|, through q and c too", slopes.z);
  example.line("B" + v, "dS/d|w|^2 at fixed z, |h|", slopes.w[0]);
  example.line("C" + v, "dS/d|h|^2 at fixed z, |w|", slopes.h[0]);
}

// The lines of one pair (w, h) on the way to its score: z, q and what the kernel computes besides.
// `v` is the word's subscript, such as _1.
template <class K>
void pair_lines(WorkedExample& example, const K& kernel, const Doubles& w, const Doubles& h,
                const std::string& v) {
  const auto d = static_cast<int64_t>(w.size());
  if constexpr (scores::OfParts<K>) {
    const int64_t n = d / kernel.count;
    Doubles xi;
    for (int64_t i = 0; i < kernel.count; ++i)
      for (int64_t j = 0; j < kernel.count; ++j)
        xi.push_back(kernel.part.exact(w.data() + i * n, h.data() + j * n, n, 0.0,
                                       static_cast<double*>(nullptr),
                                       static_cast<double*>(nullptr)));
    example.line("xi" + v, "ssg's score of each part of w and each part of h", xi);
  } else {
    const int64_t dims = kernel.product_dims(d);
    const double z = scores::dot(w.data(), h.data(), dims);
    example.line("z" + v, "w.h", z);
    if constexpr (K::kStats > 0) {
      double sw[K::kStats], sh[K::kStats];
      kernel.stats(w.data(), d, sw);
      kernel.stats(h.data(), d, sh);
      if constexpr (K::kKind == ScoreKind::hpb) {
        example.line("rho" + v, "hyperbolic radii of w and h", Doubles{sw[2], sh[2]});
        const double grown = std::exp(sw[2] + sh[2]);
        example.line("A" + v, "cosh rho_w cosh rho_h - z sinh rho_w sinh rho_h/(|w||h|)",
                     grown * (sw[0] * sh[0] - sw[1] * sh[1] * z));
      } else {
        example.line("q" + v, "|w|^2 + |h|^2 - 2z", sw[0] + sh[0] - 2 * z);
      }
      if constexpr (K::kKind == ScoreKind::expr) formula_lines(example, kernel, sw[0], sh[0], z, v);
      if constexpr (K::kKind == ScoreKind::ssg)
        example.line("sigma" + v, "s_w + s_h", std::exp(sw[1]) + std::exp(sh[1]));
      if constexpr (requires { kernel.phi_slope(1.0); }) {
        const double q = sw[0] + sh[0] - 2 * z;
        example.line("dS" + v + "/dq", K::kDerivative, q > 0 ? kernel.phi_slope(q) : 0.0);
      }
    } else {
      example.line(
          "dS" + v + "/dz", K::kDerivative,
          kernel.slopes(z, static_cast<double*>(nullptr), static_cast<double*>(nullptr)).z);
    }
  }
}

const char* chain_rule(const Score& score) {
  if (score.kind == ScoreKind::expr) return "A h + 2 B w";
  if (is_inner_product_kernel(score)) return "dS/dz h";
  const bool radial = score.kind == ScoreKind::log || score.kind == ScoreKind::pow ||
                      score.kind == ScoreKind::rbf || score.kind == ScoreKind::wav;
  return radial ? "2 dS/dq (w - h)" : "exact, docs/gradients.md";
}

}  // namespace

WorkedExample explain_kernel(const Score& score) {
  const KernelInfo info = kernel_info(score);
  const HeadSpec head{.components = {score}};
  const int64_t d = example_size(score);
  const Tensor h = short_numbers({1, d}, 0), w = short_numbers({kWords, d}, 2),
               target = Tensor::from<int32_t>({0}, {1});

  const bool formula = score.kind == ScoreKind::expr;
  WorkedExample example(concat(to_text(score), ": S = ", info.formula,
                               "\n  derivative: ", info.derivative, "\n  ", info.note));
  if (formula) example.heading(derivation_text(score));
  example.heading("One context h, three words w_1, w_2, w_3; the text goes on with word 1");
  example.line("h", "", h);
  row_lines(example, "w", w);

  Arena pool("kernel_inspect");
  Tape tape(pool);
  const Var context = tape.leaf(h), words = tape.leaf(w);
  const HeadWeights weights{.w = {words}};
  const Doubles s = component_scores(head, context, weights, target).to_vector(),
                p = probabilities(head, context, weights);

  example.heading("Forward");
  scores::visit(score, d, [&](const auto& kernel) {
    for (int64_t v = 0; v < kWords; ++v)
      pair_lines(example, kernel, row(w, v), h.to_vector(), kSubscript[v]);
  });
  example.line("S", "S(w_v, h) of the three words", s);
  example.line("p", "e^S_v / (e^S_1 + e^S_2 + e^S_3)", p);
  const Var loss = kernel_softmax(head, context, weights, target, 1.0).loss;
  example.line("L", "-ln p_1", loss.value());

  example.heading("Backward");
  Doubles by_score = p;
  by_score[0] -= 1;
  example.line("dL/dS", "p_v - [v = 1]", by_score);
  for (int64_t v = 0; v < kWords; ++v)
    example.line(concat("dS", kSubscript[v], "/dw", kSubscript[v]), chain_rule(score),
                 score_at(score, row(w, v), h.to_vector()).dw);
  for (int64_t v = 0; v < kWords; ++v)
    example.line(concat("dS", kSubscript[v], "/dh"), "",
                 score_at(score, row(w, v), h.to_vector()).dh);
  tape.backward(loss);
  for (int64_t v = 0; v < kWords; ++v)
    example.line(concat("dL/dw", kSubscript[v]),
                 concat("dL/dS", kSubscript[v], " dS", kSubscript[v], "/dw", kSubscript[v]),
                 row(words.grad(), v));
  example.line("dL/dh", "sum over v of dL/dS_v dS_v/dh", context.grad());
  example.check(
      [&](std::span<const Var> x) {
        return kernel_softmax(head, x[0], {.w = {x[1]}}, target, 1.0).loss;
      },
      {h, w});
  return example;
}

WorkedExample explain_softmax() {
  const Tensor x = Tensor::from<double>({1, 2, 0.5}, {1, 3}),
               target = Tensor::from<int32_t>({0}, {1});
  WorkedExample example("softmax: p_v = e^x_v / sum_u e^x_u, and the loss -ln p of the target");
  example.heading("Three scores; word 1 is the target");
  example.line("x", "", x);
  Arena pool("kernel_inspect");
  Tape tape(pool);
  const Var scores = tape.leaf(x), y = log_softmax(scores), loss = nll(y, target, 1);
  Doubles e = x.to_vector(), p = y.value().to_vector(), by_y = {-1, 0, 0};
  double total = 0;
  for (double& v : e) total += v = std::exp(v);
  example.heading("Forward");
  example.line("e^x", "", e);
  example.line("Z", "the sum of e^x_v", total);
  example.line("y", "x - ln Z: log_softmax", y.value());
  for (double& v : p) v = std::exp(v);
  example.line("p", "e^y", p);
  example.line("L", "-y_1", loss.value());
  example.heading("Backward");
  example.line("dL/dy", "-1 at the target, else 0", by_y);
  tape.backward(loss);
  example.line("dL/dx", "dL/dy - p sum(dL/dy) = p - [v = 1]", scores.grad());
  example.check([&](std::span<const Var> v) { return nll(log_softmax(v[0]), target, 1); }, {x});
  return example;
}

WorkedExample explain_mixture() {
  const HeadSpec head = parse_head("mix:lin,rbf", {.head_context = "none"});
  const Tensor h = short_numbers({1, 2}, 0), w = short_numbers({kWords, 2}, 2),
               m = short_numbers({2, 2}, 8), target = Tensor::from<int32_t>({0}, {1});
  WorkedExample example(
      "mixture: p(v) = sum_k pi_k p_k(v); here component 1 is lin, component 2 is rbf, and both "
      "see h itself");
  example.heading("One context, three words, the prior's weights; the text goes on with word 1");
  example.line("h", "", h);
  row_lines(example, "w", w);
  row_lines(example, "m", m);
  Arena pool("kernel_inspect");
  Tape tape(pool);
  const Var context = tape.leaf(h), words = tape.leaf(w), prior = tape.leaf(m);
  const HeadWeights weights{.w = {words}, .prior = prior};
  const Doubles s = component_scores(head, context, weights, target).to_vector(),
                pi = prior_probabilities(head, context, weights).to_vector();
  example.heading("Forward");
  example.line("pi", "softmax(m_1.h, m_2.h)", pi);
  Doubles of[2];
  for (size_t k = 0; k < 2; ++k) {
    const HeadSpec single{.components = {head.components[k]}};
    example.line(concat("S", kSubscript[k]), k == 0 ? "w_v.h" : "exp(-|w_v - h|^2)",
                 Doubles(s.begin() + static_cast<long>(k) * kWords,
                         s.begin() + static_cast<long>(k + 1) * kWords));
    of[k] = probabilities(single, context, {.w = {words}});
    example.line(concat("p", kSubscript[k]), concat("softmax(S", kSubscript[k], ")"), of[k]);
  }
  example.line("p", "pi_1 p_1 + pi_2 p_2", probabilities(head, context, weights));
  const SoftmaxLoss out = kernel_softmax(head, context, weights, target, 1.0);
  example.line("L", "-ln p(1)", out.loss.value());
  example.heading("Backward");
  const Doubles share = out.share.value().to_vector();
  example.line("gamma", "pi_k p_k(1) / p(1): each component's share of the credit", share);
  for (size_t k = 0; k < 2; ++k) {
    Doubles by_score = of[k];
    for (size_t v = 0; v < kWords; ++v) by_score[v] = share[k] * (by_score[v] - (v == 0 ? 1 : 0));
    example.line(concat("dL/dS", kSubscript[k]),
                 concat("gamma", kSubscript[k], " (p", kSubscript[k], "(v) - [v = 1])"), by_score);
  }
  example.line("dL/da", "pi - gamma, a_k = m_k.h the prior's logits",
               Doubles{pi[0] - share[0], pi[1] - share[1]});
  tape.backward(out.loss);
  for (int64_t k = 0; k < 2; ++k)
    example.line(concat("dL/dm", kSubscript[k]),
                 concat("(pi", kSubscript[k], " - gamma", kSubscript[k], ") h"),
                 row(prior.grad(), k));
  for (int64_t v = 0; v < kWords; ++v)
    example.line(concat("dL/dw", kSubscript[v]), "both components' dL/dS_v dS_v/dw_v, added",
                 row(words.grad(), v));
  example.line("dL/dh", "what both components and the prior send back, added", context.grad());
  example.check(
      [&](std::span<const Var> x) {
        return kernel_softmax(head, x[0], {.w = {x[1]}, .prior = x[2]}, target, 1.0).loss;
      },
      {h, w, m});
  return example;
}

}  // namespace nine::app
