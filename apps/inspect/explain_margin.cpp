// A worked example of lin with a margin and other norms.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "apps/inspect/explain.h"
#include "kernels/loss/kernel_softmax.h"
#include "kernels/options/angle.h"

namespace nine::app {
namespace {

using Doubles = std::vector<double>;

constexpr int64_t kMarginWords = 3, kMarginSize = 2, kMarginRows = 2;

// psi of the cosine `c` and the angle `theta`, symbols, and its slope by c; `at` is the angle.
struct Psi {
  std::string value, slope, rule;
};
Psi psi_of(const Margin& margin, const std::string& c, const std::string& theta, double at) {
  const double m = margin.size;
  switch (margin.kind) {
    case Margin::Kind::cos:
      return {concat(c, " - ", m), "1", "psi = c - m"};
    case Margin::Kind::arc:
      if (at > std::numbers::pi - m)
        return {concat(c, " - ", m, "*sin(", m, ")"), "1", "beyond pi - m: psi = c - m sin m"};
      return {concat("cos(", theta, " + ", m, ")"),
              concat("sin(", theta, " + ", m, ")/sin(", theta, ")"),
              "chain rule: cos has -sin, and dc = -sin theta dtheta"};
    case Margin::Kind::lsm: {
      const double k = std::min(std::floor(m * at / std::numbers::pi), m - 1);
      const std::string sign = std::fmod(k, 2) == 0 ? "" : "-";
      return {concat(sign, "cos(", m, "*", theta, ") - ", 2 * k),
              concat(sign, m, "*sin(", m, "*", theta, ")/sin(", theta, ")"),
              "chain rule: cos has -sin, and dc = -sin theta dtheta"};
    }
    case Margin::Kind::none:
      break;
  }
  return {c, "1", "no margin: psi = c"};
}

// F_v, or F_v / |w_1| where the norm follows the most frequent word, as formulas of the counts.
std::string norm_ratios(const WordNorm& word) {
  using NormKind = WordNorm::Kind;
  switch (word.kind) {
    case NormKind::constant:
      return concat("[", word.a, ", ", word.a, ", ", word.a, "]");
    case NormKind::uniform:
      return "[1, 1, 1]";
    case NormKind::log_rank:
      return "ln([3, 2, 1])/ln(3)";
    case NormKind::log_rank_ratio:
      return "1 - ln([1, 2, 3])/ln(3)";
    case NormKind::unigram:
      return concat(word.a, "*count/sum(count) + ", word.b);
    case NormKind::log_unigram:
      return "ln(count)";
    case NormKind::log_unigram_scaled:
      return "ln(count)/ln(count[1])";
    case NormKind::none:
      break;
  }
  return "";
}

Doubles lengths_of(const Tensor& x) {
  Doubles out;
  for (int64_t r = 0; r < x.shape().rows(); ++r)
    out.push_back(scores::norm(x.data<double>() + r * x.shape().cols(), x.shape().cols()));
  return out;
}

void norm_lines(WorkedExample& example, const WordNorm& word, const ContextNorm& context) {
  example.step("lengths", "[|w_1|, |w_2|, |w_3|]", "of the word vectors");
  example.step("reaches", "[|h_1|, |h_2|]", "the lengths of the contexts");
  if (word) example.step("ratio", norm_ratios(word), concat("word norm ", to_text(word)));
  example.step("F",
               !word                     ? "lengths"
               : word.multiplies_first() ? "ratio*lengths[1]"
                                         : "ratio",
               word.multiplies_first() ? "word 1 is the most frequent" : "the words' norms");
  example.step("G",
               !context             ? std::string("reaches")
               : context.of_batch() ? "max(reaches)*[1, 1]"
                                    : concat("[", context.value, ", ", context.value, "]"),
               concat("context norm ", to_text(context)));
  for (int64_t v = 1; v <= kMarginWords; ++v)
    example.step(concat("u_", v), concat("w_", v, "/|w_", v, "|"), "direction");
  for (int64_t r = 1; r <= kMarginRows; ++r)
    example.step(concat("e_", r), concat("h_", r, "/|h_", r, "|"), "direction");
}

// Row r with target y, counted from 0.
void forward_lines(WorkedExample& example, const Margin& margin, int64_t r, int64_t y,
                   double angle) {
  const std::string n = concat('_', r + 1), c = "c" + n, at = concat("[", y + 1, "]");
  example.step(c, concat("[u_1.e", n, ", u_2.e", n, ", u_3.e", n, "]"), "the cosines");
  example.step("theta" + n, concat("arccos(", c, at, ")"), "the target's angle");
  const Psi psi = psi_of(margin, c + at, "theta" + n, angle);
  example.step("psi" + n, psi.value, "margin " + to_text(margin));
  std::string with;
  for (int64_t v = 0; v < kMarginWords; ++v)
    with += concat(v > 0 ? ", " : "[", v == y ? "psi" + n : concat(c, "[", v + 1, "]"));
  example.step("x" + n, with + "]", "psi in the target's place");
  example.step("s" + n, concat("F*G[", r + 1, "]*x", n), "the scores");
  example.step("p" + n, softmax_formula(example.at("s" + n), "s" + n), "their softmax");
  example.step("z" + n, concat("F*G[", r + 1, "]*", c), "the scores without the margin");
  example.step("plain" + n, softmax_formula(example.at("z" + n), "z" + n), "their softmax");
}

void backward_lines(WorkedExample& example, const Margin& margin, int64_t r, int64_t y,
                    double angle) {
  const std::string n = concat('_', r + 1), c = "c" + n, at = concat("[", y + 1, "]");
  std::string hot, slopes;
  for (int64_t v = 0; v < kMarginWords; ++v) {
    hot += concat(v > 0 ? ", " : "[", v == y ? "1" : "0");
    slopes += concat(v > 0 ? ", " : "[", v == y ? "psi'" + n : "1");
  }
  const Psi psi = psi_of(margin, c + at, "theta" + n, angle);
  example.step("dL/ds" + n, concat("(p", n, " - ", hot, "])/2"),
               "ln sum exp s - s_y, halved: ln has 1/x, exp is its own, so p");
  example.step("psi'" + n, psi.slope, psi.rule);
  example.step("dL/dc" + n, concat("dL/ds", n, "*F*G[", r + 1, "]*", slopes, "]"),
               "chain rule: s = F G c, of the target F G psi");
}

// dL/dw and dL/dh, through directions and through the norms that follow the vectors.
void gradient_lines(WorkedExample& example, const WordNorm& word, const ContextNorm& context) {
  const bool by_f = !word || (word.multiplies_first() && word.through),
             by_g = !context || (context.of_batch() && context.through);
  if (by_f) example.step("dL/dF", "dL/ds_1*G[1]*x_1 + dL/ds_2*G[2]*x_2", "product rule: s = F G x");
  if (by_g)
    example.step("dL/dG", "[sum(dL/ds_1*F*x_1), sum(dL/ds_2*F*x_2)]", "product rule: s = F G x");
  for (int64_t v = 1; v <= kMarginWords; ++v) {
    std::string all, rule = "chain rule: u = w/|w| turns only, c has (e - c u)/|w|";
    for (int64_t r = 1; r <= kMarginRows; ++r)
      all += concat(r > 1 ? " + " : "(", "dL/dc_", r, "[", v, "]*(e_", r, " - c_", r, "[", v,
                    "]*u_", v, ")");
    all += concat(")/|w_", v, "|");
    if (by_f && (!word || v == 1)) {
      all += !word ? concat(" + dL/dF[", v, "]*u_", v) : " + sum(dL/dF*ratio)*u_1";
      rule += "; |w| has u";
    }
    example.step(concat("dL/dw_", v), all, rule);
  }
  const Numbers reaches = example.at("reaches");
  const int64_t longest = reaches[0] >= reaches[1] ? 1 : 2;
  for (int64_t r = 1; r <= kMarginRows; ++r) {
    std::string all, rule = "chain rule: e = h/|h| turns only, c has (u - c e)/|h|";
    for (int64_t v = 1; v <= kMarginWords; ++v)
      all += concat(v > 1 ? " + " : "(", "dL/dc_", r, "[", v, "]*(u_", v, " - c_", r, "[", v,
                    "]*e_", r, ")");
    all += concat(")/|h_", r, "|");
    if (by_g && (!context || r == longest)) {
      all += !context ? concat(" + dL/dG[", r, "]*e_", r) : concat(" + sum(dL/dG)*e_", r);
      rule += "; |h| has e";
    }
    example.step(concat("dL/dh_", r), all, rule);
  }
}

}  // namespace

WorkedExample explain_margin(const HeadConfig& by_angle, const ShortNumbers& numbers) {
  const Margin& margin = by_angle.loss.margin;
  HeadNorms norms{by_angle.norms};
  const WordNorm& word = norms.word;
  const ContextNorm& context = norms.context;
  const Tensor h = numbers({kMarginRows, kMarginSize}, 0),
               w = numbers({kMarginWords, kMarginSize}, 4),
               target = Tensor::from<int32_t>({0, 2}, {kMarginRows});
  WorkedExample example(
      numbers, concat("margin ", to_text(margin), ", word norm ", to_text(word), ", context norm ",
                      to_text(context),
                      ": s_v = F_v G c_v, the target's F G psi(c); c the cosine of the angle "
                      "between w_v and h"));
  example.heading(
      "Two contexts, three words with the counts 6, 3 and 1; the targets are word 1 and word 3");
  for (int64_t r = 0; r < kMarginRows; ++r) example.given(concat("h_", r + 1), row(h, r));
  for (int64_t v = 0; v < kMarginWords; ++v) example.given(concat("w_", v + 1), row(w, v));
  example.given("count", kExampleCounts);
  const Doubles of_words = lengths_of(w), of_rows = lengths_of(h);
  norms.follow(kExampleCounts);
  Doubles f = of_words, g = of_rows;
  if (word) {
    f = norms.ratios.to_vector();
    for (double& x : f) x *= norms.first_word >= 0 ? of_words[0] : 1;
  }
  if (context)
    g.assign(kMarginRows, context.of_batch() ? std::max(of_rows[0], of_rows[1]) : context.value);
  Arena pool("kernel_inspect");
  Tape tape(pool);
  const Var contexts = tape.leaf(h), words = tape.leaf(w);
  const HeadWeights weights{.w = {words}, .norms = norms};
  const HeadSpec head = parse_head("lin");
  const SoftmaxLoss out = kernel_softmax(head, contexts, weights, target, 0.5, {.margin = margin});
  const Doubles nll = out.nll.value().to_vector(), loss = out.loss.value().to_vector();
  tape.backward(out.loss);

  example.heading("Forward");
  norm_lines(example, word, context);
  example.agree("F", f);
  example.agree("G", g);
  Doubles angles;
  for (int64_t r = 0; r < kMarginRows; ++r) {
    const int64_t y = target.data<int32_t>()[r];
    const scores::AnglePair<double> pair(w.data<double>() + y * kMarginSize,
                                         h.data<double>() + r * kMarginSize, kMarginSize);
    angles.push_back(std::atan2(pair.sine, pair.cosine));
    forward_lines(example, margin, r, y, angles.back());
    example.agree(concat("psi_", r + 1),
                  Numbers{scores::margin_at(margin, pair.cosine, pair.sine).value});
  }
  example.step("psi", "[psi_1, psi_2]", "of both targets");
  example.step("nll", "-ln([plain_1[1], plain_2[3]])", "of the targets, without the margin");
  example.agree("nll", nll);
  example.step("L", "-(ln(p_1[1]) + ln(p_2[3]))/2", "the mean, with the margin in it");
  example.agree("L", loss);

  example.heading("Backward");
  for (int64_t r = 0; r < kMarginRows; ++r)
    backward_lines(example, margin, r, target.data<int32_t>()[r], angles[static_cast<size_t>(r)]);
  gradient_lines(example, word, context);
  for (int64_t v = 0; v < kMarginWords; ++v)
    example.agree(concat("dL/dw_", v + 1), row(words.grad(), v));
  for (int64_t r = 0; r < kMarginRows; ++r)
    example.agree(concat("dL/dh_", r + 1), row(contexts.grad(), r));
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
