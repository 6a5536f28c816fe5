// Worked examples of one context and, usually, three words: the kernel softmax and the softmax
// alone.
#include <algorithm>
#include <array>
#include <cmath>

#include "apps/inspect/explain.h"
#include "apps/inspect/explain_formula.h"
#include "apps/inspect/kernel_steps.h"
#include "apps/inspect/score_at.h"
#include "autograd/functions.h"
#include "kernels/expression/kernel_lines.h"
#include "kernels/loss/kernel_softmax.h"
#include "kernels/settings/learned_numbers.h"

namespace nine::app {

std::string words_text(int64_t words) {
  static const std::array<const char*, 9> kCounts{"one", "two",   "three", "four", "five",
                                                  "six", "seven", "eight", "nine"};
  return concat(words < 10 ? kCounts[static_cast<size_t>(words) - 1] : std::to_string(words),
                words == 1 ? " word" : " words");
}

std::string target_text(const ExampleSizes& sizes) {
  std::string all;
  for (int64_t v = 0; v < sizes.words; ++v)
    all += concat(v > 0 ? ", " : "", v == sizes.target ? 1 : 0);
  return "[" + all + "]";
}

std::string softmax_formula(const Numbers& scores, const std::string& symbol) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  if (std::abs(largest) < 600) return concat("exp(", symbol, ")/sum(exp(", symbol, "))");
  const std::string shifted = concat("exp(", symbol, " - max(", symbol, "))");
  return concat(shifted, "/sum(", shifted, ")");
}

namespace {

// Vectors for an example. Those for ball=clip are shorter, so that two words lie inside of the ball
// and one on its rim.
struct KernelExample {
  Tensor h, w;

  KernelExample(const Score& score, const ShortNumbers& numbers) {
    const ExampleSizes& sizes = numbers.sizes();
    const int64_t d = numbers.own() ? sizes.size : example_size(score);
    h = numbers({1, d}, 0);
    w = numbers({sizes.words, d}, numbers.own() ? static_cast<size_t>(d) : 2);
    if (numbers.own() || !needs_short_vectors({.components = {score}})) return;
    for (const Tensor& t : {h, w})
      for (int64_t k = 0; k < t.elements(); ++k) t.data<double>()[k] *= 0.5;
  }
};

}  // namespace

bool needs_short_vectors(const HeadSpec& head) {
  return std::any_of(head.components.begin(), head.components.end(),
                     [](const Score& s) { return kernel_expression(s).ball > 0; });
}

// The context by value: it may lie in the example, which grows.
void kernel_lines(WorkedExample& example, const Score& score, Subscripts names, const Tensor& w,
                  Numbers h,  // NOLINT(performance-unnecessary-value-param)
                  KernelPart part) {
  const std::string component = names.of_component(),
                    context = names.own_context ? "h" + component : "h";
  for (int64_t v = 0; v < w.shape().rows(); ++v) {
    names.word = concat('_', v + 1);
    const std::string of_word = component + names.word;
    const KernelSteps k = kernel_steps(score, names, h.size());
    if (part == KernelPart::forward && v == 0)
      for (const Step& s : k.context) example.step(s.symbol, s.formula, s.rule);
    for (const Step& s : part == KernelPart::forward ? k.forward : k.backward)
      // What follows from the context alone is there since the first word.
      if (v == 0 || s.symbol.find(of_word) != std::string::npos)
        example.step(s.symbol, s.formula, s.rule);
    if (part == KernelPart::forward) continue;
    const ScoreAt at = score_at(score, row(w, v), h);
    example.agree(concat("dS", of_word, "/dw", names.word), at.dw);
    example.agree(concat("dS", of_word, "/d", context), at.dh);
  }
}

void learned_lines(WorkedExample& example, const LearnedNumber& number,
                   const std::string& component, const Tensor& grad, int64_t words) {
  const std::string symbol = concat("dL/d", number.name, component);
  std::string all;
  for (int64_t v = 1; v <= words; ++v)
    all += concat(v > 1 ? " + " : "", "dL/dS", component, '[', v, "]*dS", component, '_', v, "/d",
                  number.name);
  example.step(symbol, all, concat("chain rule; ", number.name, " is in all scores: sum rule"));
  if (!number.positive) {
    example.agree(symbol, grad);
    return;
  }
  const std::string by_log = concat("dL/dln", number.name, component);
  example.step(
      by_log, concat(number.start, "*", symbol),
      concat("its logarithm l is learned: ", number.name, " = e^l has itself for a slope"));
  example.agree(by_log, grad);
}

WorkedExample explain_kernel(const Score& score, const ShortNumbers& numbers) {
  const KernelInfo info = kernel_info(score);
  const HeadSpec head{.components = {score}};
  const KernelExample vectors(score, numbers);
  const ExampleSizes& sizes = numbers.sizes();
  const int64_t target_word = sizes.target + 1;
  const Tensor target = Tensor::from<int32_t>({static_cast<int32_t>(sizes.target)}, {1});

  const expression::KernelLines lines(kernel_expression(score), info.parameters);
  WorkedExample example(numbers,
                        concat(to_text(score), ": S = ", lines.score_text(),
                               "\n  derivative: ", lines.derivative_text(), "\n  ", info.note));
  if (score.kind == ScoreKind::expr) example.heading(derivation_text(score));
  std::string names, scores;
  for (int64_t v = 1; v <= sizes.words; ++v) {
    names += concat(v > 1 ? ", w_" : "w_", v);
    scores += concat(v > 1 ? ", S_" : "S_", v);
  }
  example.heading(concat("One context h, ", words_text(sizes.words), " ", names,
                         "; the text goes on with word ", target_word));
  example.given("h", vectors.h);
  for (int64_t v = 0; v < sizes.words; ++v) example.given(concat("w_", v + 1), row(vectors.w, v));

  Arena pool("kernel_inspect");
  Tape tape(pool);
  const Var context = tape.leaf(vectors.h), words = tape.leaf(vectors.w);
  HeadWeights weights{.w = {words}};
  const std::vector<LearnedNumber> learned = learned_numbers(head);
  std::vector<Tensor> stored;
  for (const LearnedNumber& n : learned) {
    stored.push_back(Tensor::from<double>({n.stored(n.start)}, {1}));
    weights.numbers.push_back(tape.leaf(stored.back()));
  }
  const Var loss = kernel_softmax(head, context, weights, target, 1.0).loss;
  const double loss_value = loss.value().item();
  tape.backward(loss);

  example.heading("Forward");
  kernel_lines(example, score, {}, vectors.w, vectors.h.to_vector(), KernelPart::forward);
  example.step("S", "[" + scores + "]", concat("the scores of the ", words_text(sizes.words)));
  example.agree("S", component_scores(head, context, weights, target));
  example.step("p", softmax_formula(example.at("S"), "S"), "the softmax");
  example.step("L", concat("-ln(p[", target_word, "])"),
               concat("the loss: word ", target_word, " was right"));
  example.agree("L", Numbers{loss_value});

  example.heading("Backward");
  example.step("dL/dS", "p - " + target_text(sizes),
               concat("L = ln sum exp S - S_", target_word,
                      ": ln x has the slope 1/x, exp is its own, so p"));
  kernel_lines(example, score, {}, vectors.w, vectors.h.to_vector(), KernelPart::backward);
  std::string all;
  for (int64_t v = 1; v <= sizes.words; ++v) {
    example.step(concat("dL/dw_", v), concat("dL/dS[", v, "]*dS_", v, "/dw_", v), "chain rule");
    example.agree(concat("dL/dw_", v), row(words.grad(), v - 1));
    all += concat(v > 1 ? " + " : "", "dL/dS[", v, "]*dS_", v, "/dh");
  }
  example.step("dL/dh", all, "chain rule; h is in all scores: sum rule");
  example.agree("dL/dh", context.grad());
  for (size_t i = 0; i < learned.size(); ++i)
    learned_lines(example, learned[i], {}, weights.numbers[i].grad(), sizes.words);
  std::vector<Tensor> inputs{vectors.h, vectors.w};
  inputs.insert(inputs.end(), stored.begin(), stored.end());
  example.check(
      [&](std::span<const Var> x) {
        return kernel_softmax(head, x[0], {.w = {x[1]}, .numbers = {x.begin() + 2, x.end()}},
                              target, 1.0)
            .loss;
      },
      inputs);
  return example;
}

WorkedExample explain_softmax(const ShortNumbers& numbers) {
  const Tensor drawn = numbers({1, 3}, 0),
               x = numbers.given() ? drawn : Tensor::from<double>({1, 2, 0.5}, {1, 3}),
               target = Tensor::from<int32_t>({0}, {1});
  WorkedExample example(numbers,
                        "softmax: p_v = e^x_v / sum_u e^x_u, and the loss -ln p of the target");
  example.heading("Three scores; word 1 is the target");
  example.given("x", x);
  Arena pool("kernel_inspect");
  Tape tape(pool);
  const Var scores = tape.leaf(x), y = log_softmax(scores), loss = nll(y, target, 1);
  example.heading("Forward");
  example.step("e^x", "exp(x)", "all positive");
  example.step("Z", "sum(e^x)", "the normaliser");
  example.step("y", "x - ln(Z)", "log_softmax");
  example.agree("y", y.value());
  example.step("p", "exp(y)", "the softmax");
  example.step("L", "-y[1]", "the loss: word 1 was right");
  example.agree("L", loss.value());
  example.heading("Backward");
  tape.backward(loss);
  example.step("dL/dy", "[-1, 0, 0]", "L is -y_1");
  example.step("dlnZ/dx", "e^x/Z", "chain rule: ln x has the slope 1/x, exp is its own");
  example.step("dL/dx", "dL/dy - sum(dL/dy)*dlnZ/dx",
               "chain rule: y_v has the slope 1 by x_v, and each y has -dlnZ/dx");
  example.agree("dL/dx", scores.grad());
  example.check([&](std::span<const Var> v) { return nll(log_softmax(v[0]), target, 1); }, {x});
  return example;
}

}  // namespace nine::app
