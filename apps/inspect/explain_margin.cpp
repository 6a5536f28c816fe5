// A worked example of lin with a margin and other norms.
#include <cmath>

#include "apps/inspect/explain.h"
#include "kernels/angle.h"
#include "kernels/kernel_softmax.h"

namespace nine::app {
namespace {

using Doubles = std::vector<double>;

constexpr int64_t kMarginWords = 3, kMarginSize = 2, kMarginRows = 2;
const Doubles kMarginCounts{6, 3, 1};

const char* psi_formula(const Margin& margin) {
  switch (margin.kind) {
    case Margin::Kind::none:
      return "c";
    case Margin::Kind::cos:
      return "c - m";
    case Margin::Kind::arc:
      return "cos(theta + m), beyond pi - m: c - m sin m";
    case Margin::Kind::lsm:
      return "(-1)^k T_m(c) - 2k, theta in [k pi/m, (k+1) pi/m]";
  }
  return "";
}
const char* slope_formula(const Margin& margin) {
  switch (margin.kind) {
    case Margin::Kind::arc:
      return "cos m + c sin m / sin theta, beyond pi - m: 1";
    case Margin::Kind::lsm:
      return "(-1)^k m U_{m-1}(c)";
    default:
      return "1";
  }
}

Doubles lengths_of(const Tensor& x) {
  Doubles out;
  for (int64_t r = 0; r < x.shape().rows(); ++r)
    out.push_back(scores::norm(x.data<double>() + r * x.shape().cols(), x.shape().cols()));
  return out;
}

}  // namespace

WorkedExample explain_margin(const Margin& margin, const WordNorm& word,
                             const ContextNorm& context) {
  const Tensor h = short_numbers({kMarginRows, kMarginSize}, 0),
               w = short_numbers({kMarginWords, kMarginSize}, 4),
               target = Tensor::from<int32_t>({0, 2}, {kMarginRows});
  WorkedExample example(
      concat("margin ", to_text(margin), ", word norm ", to_text(word), ", context norm ",
             to_text(context),
             ": s_v = F_v G c_v, the target's F G psi(c); c the cosine of the angle "
             "between w_v and h"));
  example.heading(
      "Two contexts, three words with the counts 6, 3 and 1; the targets are word 1 and word 3");
  for (int64_t r = 0; r < kMarginRows; ++r) example.line(concat("h_", r + 1), "", row(h, r));
  for (int64_t v = 0; v < kMarginWords; ++v) example.line(concat("w_", v + 1), "", row(w, v));
  const Doubles of_words = lengths_of(w), of_rows = lengths_of(h);
  HeadNorms norms{.word = word, .context = context};
  Doubles f = of_words, g = of_rows;
  if (word) {
    f = word_norm_ratios(word, kMarginCounts);
    norms.ratios = Tensor::from(f, {kMarginWords});
    if (word.multiplies_first()) norms.first_word = most_frequent_word(kMarginCounts);
    for (double& x : f) x *= norms.first_word >= 0 ? of_words[0] : 1;
  }
  if (context)
    g.assign(kMarginRows, context.of_batch() ? std::max(of_rows[0], of_rows[1]) : context.value);
  example.heading("Forward");
  example.line("|w|", "", of_words);
  example.line("|h|", "", of_rows);
  example.line("F", concat("word norm ", to_text(word)), f);
  example.line("G", concat("context norm ", to_text(context)), g);

  Arena pool("kernel_inspect");
  Tape tape(pool);
  const Var contexts = tape.leaf(h), words = tape.leaf(w);
  const HeadWeights weights{.w = {words}, .norms = norms};
  const HeadSpec head = parse_head("lin");
  Doubles c, theta, psi, slope;
  for (int64_t r = 0; r < kMarginRows; ++r) {
    const int64_t y = target.data<int32_t>()[r];
    const scores::AnglePair<double> pair(w.data<double>() + y * kMarginSize,
                                         h.data<double>() + r * kMarginSize, kMarginSize, nullptr,
                                         nullptr);
    const scores::AngleScore s = scores::margin_at(margin, pair.cosine, pair.sine);
    c.push_back(pair.cosine);
    theta.push_back(std::acos(pair.cosine));
    psi.push_back(s.value);
    slope.push_back(s.slope);
  }
  example.line("c", "of the targets, w.h / (|w| |h|)", c);
  example.line("theta", "their angles", theta);
  example.line("psi", psi_formula(margin), psi);
  example.line("psi'", slope_formula(margin), slope);
  const SoftmaxLoss out = kernel_softmax(head, contexts, weights, target, 0.5, {.margin = margin});
  example.line("-ln p", "of the targets, without the margin", out.nll.value());
  example.line("L", "the mean of -ln p with the margin in it", out.loss.value());

  example.heading("Backward");
  tape.backward(out.loss);
  for (int64_t v = 0; v < kMarginWords; ++v)
    example.line(concat("dL/dw_", v + 1), "docs/gradients.md: word_scales, targets by their angle",
                 row(words.grad(), v));
  for (int64_t r = 0; r < kMarginRows; ++r)
    example.line(concat("dL/dh_", r + 1), "docs/gradients.md: set_norms", row(contexts.grad(), r));
  // What no gradient passes through is a constant for the check.
  HeadNorms fixed = norms;
  if (norms.first_word >= 0 && !word.through) {
    fixed.ratios = Tensor::from(f, {kMarginWords});
    fixed.first_word = -1;
  }
  if (context.of_batch() && !context.through)
    fixed.context = {.kind = ContextNorm::Kind::constant, .value = g[0]};
  example.check(
      [&](std::span<const Var> x) {
        return kernel_softmax(head, x[0], {.w = {x[1]}, .norms = fixed}, target, 0.5,
                              {.margin = margin})
            .loss;
      },
      {h, w});
  return example;
}

}  // namespace nine::app
