// Worked examples of what is added to the loss or takes part of its targets: the regularisers of
// the prior and of norms, label smoothing.
#include <cmath>

#include "apps/inspect/explain.h"
#include "autograd/functions.h"
#include "kernels/loss/kernel_softmax.h"
#include "kernels/options/regularisers.h"

namespace nine::app {
namespace {

Var mixture_loss(const HeadSpec& head, std::span<const Var> x, const Tensor& target,
                 const HeadLoss& loss = {}) {
  return kernel_softmax(head, x[0], {.w = {x[1]}, .prior = x[2]}, target,
                        1.0 / static_cast<double>(target.elements()), loss)
      .loss;
}

}  // namespace

WorkedExample explain_prior_penalty(const ShortNumbers& numbers) {
  const HeadSpec head = parse_head("mix:2*lin", {.head_context = "none"});
  const Tensor h = numbers({2, 2}, 0), w = numbers({kExampleWords, 2}, 4), m = numbers({2, 2}, 8),
               target = Tensor::from<int32_t>({0, 1}, {2});
  constexpr double kStrength = 0.5;
  WorkedExample example(
      numbers,
      "pi_reg: a penalty rho R(pi) on a mixture's prior; here of two contexts and K = 2 "
      "components, rho = 0.5");
  example.heading("Two contexts, the prior's weights");
  for (int64_t r = 0; r < 2; ++r) example.given(concat("h_", r + 1), row(h, r));
  for (int64_t k = 0; k < 2; ++k) example.given(concat("m_", k + 1), row(m, k));
  example.given("rho", {kStrength});
  example.heading("Forward");
  for (const char* r : {"_1", "_2"}) {
    example.step(concat("a", r), concat("[m_1.h", r, ", m_2.h", r, "]"), "the prior's logits");
    example.step(concat("pi", r), concat("exp(a", r, ")/sum(exp(a", r, "))"), "their softmax");
  }
  example.step("R_variance", "(sum((pi_1 - 1/2)^2)/2 + sum((pi_2 - 1/2)^2)/2)/2",
               "pi_reg=variance: the mean over contexts of the variance over components");
  example.step("s", "pi_1 + pi_2", "pi_reg=cv2: the sums over contexts");
  example.step("mean", "sum(s)/2", "their mean over components");
  example.step("V", "sum((s - mean)^2)/2", "their variance");
  example.step("R_cv2", "V/mean^2", "the squared coefficient of variation");

  example.heading("Backward");
  const std::string softmax_rule = "a softmax has the slopes pi_k ([k = j] - pi_j)";
  const auto lines = [&](const std::string& name, ops::PriorPenalty kind) {
    for (const char* r : {"_1", "_2"})
      example.step(
          concat("d", name, "/da", r),
          concat("pi", r, "*(d", name, "/dpi", r, " - sum(pi", r, "*d", name, "/dpi", r, "))"),
          softmax_rule);
    // What the penalty adds to the loss's gradient in the library.
    Numbers with[2], values;
    for (const double strength : {0.0, kStrength}) {
      Arena pool("kernel_inspect");
      Tape tape(pool);
      const Var x[] = {tape.leaf(h), tape.leaf(w), tape.leaf(m)};
      const Var loss =
          mixture_loss(head, x, target, {.prior = {.kind = kind, .strength = strength}});
      values.push_back(loss.value().item());
      tape.backward(loss);
      with[strength > 0] = x[2].grad().to_vector();
    }
    Numbers added = with[1];
    for (size_t k = 0; k < added.size(); ++k) added[k] -= with[0][k];
    const std::string by_a = concat("d", name, "/da");
    for (const char* k : {"1", "2"})
      example.step(concat("d", name, "/dm_", k),
                   concat("rho*(", by_a, "_1[", k, "]*h_1 + ", by_a, "_2[", k, "]*h_2)"),
                   "chain rule: a_k = m_k.h; times rho, it is added to the loss's");
    example.agree(concat("d", name, "/dm_1"), {added[0], added[1]});
    example.agree(concat("d", name, "/dm_2"), {added[2], added[3]});
    example.step(concat("rho ", name), concat("rho*", name), "what is added to the loss");
    example.agree(concat("rho ", name), Numbers{values[1] - values[0]});
  };
  for (const char* r : {"_1", "_2"})
    example.step(concat("dR_variance/dpi", r), concat("(pi", r, " - 1/2)/2"),
                 "power rule; the factors 2, 1/2 and 1/2");
  lines("R_variance", ops::PriorPenalty::variance);
  example.step("dR_cv2/ds", "s - mean",
               "power rule and factor 1/2; mean is 1 for every pi, a constant");
  for (const char* r : {"_1", "_2"})
    example.step(concat("dR_cv2/dpi", r), "dR_cv2/ds/mean^2", "sum rule: s is their sum");
  lines("R_cv2", ops::PriorPenalty::cv2);
  example.check(
      [&](std::span<const Var> x) {
        return mixture_loss(head, x, target,
                            {.prior = {.kind = ops::PriorPenalty::cv2, .strength = kStrength}});
      },
      {h, w, m});
  return example;
}

WorkedExample explain_norm_penalty(const ShortNumbers& numbers) {
  const Tensor w = numbers({kExampleWords, 2}, 2);
  WorkedExample example(
      numbers,
      "weight_norm_reg: a penalty that holds the word vectors' lengths near nu; here rho = 0.1, nu "
      "= 1");
  example.heading("Three word vectors");
  for (int64_t v = 0; v < kExampleWords; ++v) example.given(concat("w_", v + 1), row(w, v));
  example.given("rho", {0.1});
  example.given("nu", {1});
  example.heading("Forward");
  example.step("n", "[|w_1|, |w_2|, |w_3|]", "their lengths");
  example.step("y", "sum((n - nu)^2)", "how far they are from nu");
  example.step("R_squared", "rho*y", "weight_norm_reg=squared");
  example.step("R_root", "rho*sqrt(y)", "weight_norm_reg=root");
  example.heading("Backward");
  example.step("dy/dn", "2*(n - nu)", "power rule");
  // What has no slope there counts as constant, as in the library.
  const bool at_rest = example.at("y")[0] == 0;
  example.step("dR_root/dy", at_rest ? "0*rho" : "rho/(2*sqrt(y))",
               at_rest ? "sqrt x has no slope at 0, where it is least: 0 is taken"
                       : "sqrt x has the slope 1/(2 sqrt x)");
  for (const auto kind : {NormRegulariser::Kind::squared, NormRegulariser::Kind::root}) {
    const bool root = kind == NormRegulariser::Kind::root;
    Arena pool("kernel_inspect");
    Tape tape(pool);
    const Var x[] = {tape.leaf(w)};
    const Var y = norm_penalty(x, {.kind = kind, .strength = 0.1, .norm = 1});
    example.agree(root ? "R_root" : "R_squared", y.value());
    tape.backward(y);
    for (int64_t v = 1; v <= kExampleWords; ++v) {
      const std::string symbol = concat(root ? "dR_root/dw_" : "dR_squared/dw_", v);
      const bool none = example.at("n")[static_cast<size_t>(v - 1)] == 0;
      example.step(
          symbol,
          concat(root ? "dR_root/dy" : "rho", "*dy/dn[", v, "]*", none ? "0*w_" : "w_", v,
                 none ? "" : concat("/n[", v, "]")),
          none ? "|w| has no slope at 0: 0 is taken" : "chain rule: |w| has the slope w/|w|");
      example.agree(symbol, row(x[0].grad(), v - 1));
    }
  }
  example.check(
      [&](std::span<const Var> x) {
        return norm_penalty({x.data(), 1},
                            {.kind = NormRegulariser::Kind::root, .strength = 0.1, .norm = 1});
      },
      {w});
  return example;
}

WorkedExample explain_label_smoothing(const ShortNumbers& numbers) {
  const Tensor h = numbers({1, 2}, 0), w = numbers({kExampleWords, 2}, 2),
               target = Tensor::from<int32_t>({0}, {1});
  const HeadSpec head = parse_head("lin");
  WorkedExample example(
      numbers,
      "label_smoothing: the loss is the cross-entropy with targets that leave every word some "
      "probability; epsilon = 0.1, head lin");
  example.heading("One context, three words; the text goes on with word 1");
  example.given("h", h);
  for (int64_t v = 0; v < kExampleWords; ++v) example.given(concat("w_", v + 1), row(w, v));
  example.given("epsilon", {0.1});
  example.heading("Forward");
  example.step("S", "[w_1.h, w_2.h, w_3.h]", "lin");
  example.step("p", "exp(S)/sum(exp(S))", "the softmax");
  using SmoothingKind = LabelSmoothing::Kind;
  for (const SmoothingKind kind : {SmoothingKind::uniform, SmoothingKind::others}) {
    const bool uniform = kind == SmoothingKind::uniform;
    const std::string name = uniform ? "uniform" : "others", t = "t_" + name, loss = "L_" + name,
                      by_s = concat("dL_", name, "/dS");
    if (!uniform) example.heading("The other convention, smoothing=others");
    example.step(t,
                 uniform ? "(1 - epsilon)*[1, 0, 0] + epsilon/3"
                         : "(1 - epsilon)*[1, 0, 0] + epsilon/2*[0, 1, 1]",
                 uniform ? "smoothing=uniform: epsilon is shared by all words"
                         : "smoothing=others: epsilon is shared by the others");
    example.step(loss, concat("-sum(", t, "*ln(p))"), "the cross-entropy");
    example.heading("Backward, smoothing=" + name);
    example.step(by_s, concat("p*sum(", t, ") - ", t),
                 "L = sum_v t_v (ln sum exp S - S_v): ln has 1/x, exp is its own, so p");
    Arena pool("kernel_inspect");
    Tape tape(pool);
    const Var context = tape.leaf(h), words = tape.leaf(w);
    const Var out = kernel_softmax(head, context, {.w = {words}}, target, 1.0,
                                   {.smoothing = {.epsilon = 0.1, .kind = kind}})
                        .loss;
    example.agree(loss, out.value());
    tape.backward(out);
    std::string by_h;
    for (int64_t v = 1; v <= kExampleWords; ++v) {
      const std::string symbol = concat("dL_", name, "/dw_", v);
      example.step(symbol, concat(by_s, "[", v, "]*h"), "chain rule: w.h has the slope h");
      example.agree(symbol, row(words.grad(), v - 1));
      by_h += concat(v > 1 ? " + " : "", by_s, "[", v, "]*w_", v);
    }
    example.step(concat("dL_", name, "/dh"), by_h, "chain rule and sum rule");
    example.agree(concat("dL_", name, "/dh"), context.grad());
  }
  example.check(
      [&](std::span<const Var> x) {
        return kernel_softmax(head, x[0], {.w = {x[1]}}, target, 1.0,
                              {.smoothing = {.epsilon = 0.1}})
            .loss;
      },
      {h, w});
  return example;
}

WorkedExample explain_z_loss(const ShortNumbers& numbers) {
  const Tensor h = numbers({1, 2}, 0), w = numbers({kExampleWords, 2}, 2),
               target = Tensor::from<int32_t>({0}, {1});
  const HeadSpec head = parse_head("lin");
  WorkedExample example(numbers,
                        "z_loss: the loss grows by zeta times the square of the log of the "
                        "softmax's normaliser; zeta = 0.1, head lin");
  example.heading("One context, three words; the text goes on with word 1");
  example.given("h", h);
  for (int64_t v = 0; v < kExampleWords; ++v) example.given(concat("w_", v + 1), row(w, v));
  example.given("zeta", {0.1});
  example.heading("Forward");
  example.step("S", "[w_1.h, w_2.h, w_3.h]", "lin");
  example.step("lse", "ln(sum(exp(S)))", "the log of the normaliser");
  example.step("L", "lse - S[1] + zeta*lse^2", "-ln p of word 1, and the z-loss");
  example.heading("Backward");
  example.step("p", "exp(S - lse)", "the slope of lse by S: ln has 1/x, exp is its own");
  example.step("dL/dS", "p*(1 + 2*zeta*lse) - [1, 0, 0]",
               "chain rule: the square of lse has the slope 2 lse; sum rule");
  Arena pool("kernel_inspect");
  Tape tape(pool);
  const Var context = tape.leaf(h), words = tape.leaf(w);
  const Var out = kernel_softmax(head, context, {.w = {words}}, target, 1.0, {.z_loss = 0.1}).loss;
  example.agree("L", out.value());
  tape.backward(out);
  for (int64_t v = 1; v <= kExampleWords; ++v) {
    const std::string symbol = concat("dL/dw_", v);
    example.step(symbol, concat("dL/dS[", v, "]*h"), "chain rule: w.h has the slope h");
    example.agree(symbol, row(words.grad(), v - 1));
  }
  example.step("dL/dh", "dL/dS[1]*w_1 + dL/dS[2]*w_2 + dL/dS[3]*w_3", "chain rule and sum rule");
  example.agree("dL/dh", context.grad());
  example.check(
      [&](std::span<const Var> x) {
        return kernel_softmax(head, x[0], {.w = {x[1]}}, target, 1.0, {.z_loss = 0.1}).loss;
      },
      {h, w});
  return example;
}

}  // namespace nine::app
