// Worked examples of mixtures: sum_k pi_k p_k(v), any kernels, with the components' own contexts or
// without.
#include <algorithm>
#include <cmath>

#include "apps/inspect/explain.h"
#include "apps/inspect/score_at.h"
#include "autograd/functions.h"
#include "kernels/loss/kernel_softmax.h"
#include "kernels/settings/learned_numbers.h"

namespace nine::app {
namespace {

// "[x_1, x_2]" of the texts of 1 to n; joined otherwise.
template <class F>
std::string joined(int64_t n, const std::string& between, F&& text) {
  std::string out;
  for (int64_t k = 1; k <= n; ++k) out += (k > 1 ? between : std::string()) + text(k);
  return out;
}
template <class F>
std::string list(int64_t n, F&& text) {
  return concat('[', joined(n, ", ", text), ']');
}

// The numbers of an example, on a tape of its own.
class MixtureExample {
 public:
  MixtureExample(const HeadSpec& head, const ShortNumbers& numbers)
      : head_(head),
        sizes_(numbers.sizes()),
        d_(numbers.own() ? sizes_.size : example_size(head)),
        h_(numbers({1, d_}, 0)),
        w_(numbers({sizes_.words, d_}, static_cast<size_t>(d_))),
        m_(numbers({head.size(), d_}, static_cast<size_t>((1 + sizes_.words) * d_))),
        target_(Tensor::from<int32_t>({static_cast<int32_t>(sizes_.target)}, {1})) {
    if (!numbers.own() && needs_short_vectors(head))
      for (const Tensor& t : {h_, w_})
        for (int64_t k = 0; k < t.elements(); ++k) t.data<double>()[k] *= 0.5;
    if (head.contexts)
      c_ = numbers({head.size() * d_, d_},
                   static_cast<size_t>((1 + sizes_.words + head.size()) * d_));
    context_ = tape_.leaf(h_);
    weights_.w = {tape_.leaf(w_)};
    weights_.prior = tape_.leaf(m_);
    if (head.contexts) weights_.latent = tape_.leaf(c_);
    for (const LearnedNumber& n : learned_numbers(head)) {
      stored_.push_back(Tensor::from<double>({n.stored(n.start)}, {1}));
      weights_.numbers.push_back(tape_.leaf(stored_.back()));
    }
  }

  WorkedExample run(WorkedExample example) {
    given(example);
    const SoftmaxLoss out = kernel_softmax(head_, context_, weights_, target_, 1.0);
    const double loss = out.loss.value().item();
    const Numbers share = out.share.value().to_vector();
    tape_.backward(out.loss);
    forward(example);
    example.agree("L", Numbers{loss});
    example.heading("Backward");
    example.step(
        "gamma",
        list(size(), [&](int64_t k) { return concat("pi_k[", k, "]*p_", k, at_target()); }) + "/p" +
            at_target(),
        concat("each component's share of p(", target(), "), its posterior"));
    example.agree("gamma", share);
    by_prior(example);
    by_words(example);
    by_context(example);
    const std::vector<LearnedNumber> learned = learned_numbers(head_);
    for (size_t i = 0; i < learned.size(); ++i)
      learned_lines(example, learned[i], concat('_', learned[i].component + 1),
                    weights_.numbers[i].grad(), sizes_.words);
    check(example);
    return example;
  }

 private:
  int64_t target() const { return sizes_.target + 1; }
  std::string at_target() const { return concat('[', target(), ']'); }
  int64_t size() const { return head_.size(); }
  std::string context(int64_t k) const { return head_.contexts ? concat("h_", k) : "h"; }
  std::string column(int64_t k, int64_t j) const { return concat("C_", k, "_", j); }
  Subscripts names(int64_t k, int64_t v) const {
    return {.word = concat('_', v), .component = k, .own_context = head_.contexts};
  }

  void given(WorkedExample& example) const {
    example.heading(concat("One context, ", words_text(sizes_.words), ", the prior's weights",
                           head_.contexts ? " and the columns of each component's C" : "",
                           "; the text goes on with word ", target()));
    example.given("h", h_);
    for (int64_t v = 0; v < sizes_.words; ++v) example.given(concat("w_", v + 1), row(w_, v));
    for (int64_t k = 0; k < size(); ++k) example.given(concat("m_", k + 1), row(m_, k));
    if (!head_.contexts) return;
    for (int64_t k = 0; k < size(); ++k)
      for (int64_t j = 0; j < d_; ++j) example.given(column(k + 1, j + 1), row(c_, k * d_ + j));
  }

  void forward(WorkedExample& example) {
    example.heading("Forward");
    example.step("a", list(size(), [](int64_t k) { return concat("m_", k, ".h"); }),
                 "the prior's logits");
    example.step("pi_k", softmax_formula(example.at("a"), "a"), "their softmax");
    example.agree("pi_k", prior_probabilities(head_, context_, weights_));
    const Tensor scores = component_scores(head_, context_, weights_, target_);
    for (int64_t k = 1; k <= size(); ++k) {
      if (head_.contexts) {
        example.step(concat("t_", k), list(d_, [&](int64_t j) { return column(k, j) + ".h"; }),
                     concat("C's columns with the context, for component ", k));
        example.step(context(k), concat("tanh(t_", k, ")"),
                     concat("the context of component ", k, ", ", to_text(score(k))));
      }
      const std::string sub = concat('_', k), s = "S" + sub;
      kernel_lines(example, score(k), names(k, 0), w_, example.at(context(k)), KernelPart::forward);
      example.step(s, list(sizes_.words, [&](int64_t v) { return concat(s, '_', v); }),
                   concat("the scores of component ", k, ", ", to_text(score(k))));
      const Numbers all = scores.to_vector();
      example.agree(s, {all.begin() + (k - 1) * sizes_.words, all.begin() + k * sizes_.words});
      example.step("p" + sub, softmax_formula(example.at(s), s), "the softmax");
    }
    example.step("p",
                 joined(size(), " + ", [](int64_t k) { return concat("pi_k[", k, "]*p_", k); }),
                 "the mixture");
    example.step("L", concat("-ln(p", at_target(), ")"),
                 concat("the loss: word ", target(), " was right"));
  }

  void by_prior(WorkedExample& example) const {
    for (int64_t k = 1; k <= size(); ++k)
      example.step(concat("dL/dS_", k),
                   concat("gamma[", k, "]*(p_", k, " - ", target_text(sizes_), ")"),
                   concat("ln x has the slope 1/x, so ln p_k(", target(),
                          ") counts by gamma_k; it is a log-softmax, S_", target(),
                          " - ln sum exp S: exp is its own slope, so p"));
    example.step("dL/da", "pi_k - gamma", "the same for ln pi_k, a log-softmax too");
    for (int64_t k = 1; k <= size(); ++k) {
      const std::string symbol = concat("dL/dm_", k);
      example.step(symbol, concat("dL/da[", k, "]*h"), "chain rule: a_k = m_k.h");
      example.agree(symbol, row(weights_.prior.grad(), k - 1));
    }
  }

  void by_words(WorkedExample& example) const {
    for (int64_t k = 1; k <= size(); ++k)
      kernel_lines(example, score(k), names(k, 0), w_, example.at(context(k)),
                   KernelPart::backward);
    for (int64_t v = 1; v <= sizes_.words; ++v) {
      example.step(concat("dL/dw_", v),
                   joined(size(), " + ",
                          [&](int64_t k) {
                            return concat("dL/dS_", k, '[', v, "]*dS_", k, '_', v, "/dw_", v);
                          }),
                   "chain rule; w is in every component's score: sum rule");
      example.agree(concat("dL/dw_", v), row(weights_.w[0].grad(), v - 1));
    }
  }

  // What the scores of component k give to the context that it scores.
  std::string from_scores(int64_t k) const {
    return joined(sizes_.words, " + ", [&](int64_t v) {
      return concat("dL/dS_", k, '[', v, "]*dS_", k, '_', v, "/d", context(k));
    });
  }

  void by_context(WorkedExample& example) const {
    std::string all =
        joined(size(), " + ", [](int64_t k) { return concat("dL/da[", k, "]*m_", k); });
    for (int64_t k = 1; k <= size(); ++k) {
      if (!head_.contexts) {
        all += " + " + from_scores(k);
        continue;
      }
      const std::string by_h = concat("dL/d", context(k)), by_t = concat("dL/dt_", k);
      example.step(
          by_h, from_scores(k),
          concat("chain rule; ", context(k), " is in all scores of its component: sum rule"));
      example.step(by_t, concat(by_h, "*(1 - ", context(k), "^2)"),
                   "chain rule: tanh x has the slope 1 - tanh(x)^2");
      for (int64_t j = 1; j <= d_; ++j) {
        const std::string symbol = "dL/d" + column(k, j);
        example.step(symbol, concat(by_t, '[', j, "]*h"),
                     concat("chain rule: element ", j, " of t is C.h"));
        example.agree(symbol, row(weights_.latent.grad(), (k - 1) * d_ + j - 1));
        all += concat(" + ", by_t, '[', j, "]*", column(k, j));
      }
    }
    example.step("dL/dh", all,
                 head_.contexts
                     ? "chain rule and sum rule: h is in the prior's logits and in each t"
                     : "chain rule and sum rule: h is in the prior's logits and in all scores");
    example.agree("dL/dh", context_.grad());
  }

  void check(WorkedExample& example) const {
    std::vector<Tensor> inputs{h_, w_, m_};
    if (head_.contexts) inputs.push_back(c_);
    inputs.insert(inputs.end(), stored_.begin(), stored_.end());
    const size_t fixed = head_.contexts ? 4 : 3;
    example.check(
        [&](std::span<const Var> x) {
          return kernel_softmax(
                     head_, x[0],
                     {.w = {x[1]},
                      .prior = x[2],
                      .latent = head_.contexts ? x[3] : Var(),
                      .numbers = {x.begin() + static_cast<std::ptrdiff_t>(fixed), x.end()}},
                     target_, 1.0)
              .loss;
        },
        inputs);
  }

  const Score& score(int64_t k) const { return head_.components[static_cast<size_t>(k - 1)]; }

  HeadSpec head_;
  ExampleSizes sizes_;
  int64_t d_;
  Tensor h_, w_, m_, c_, target_;
  std::vector<Tensor> stored_;
  Arena pool_{"kernel_inspect"};
  Tape tape_{pool_};
  Var context_;
  HeadWeights weights_;
};

}  // namespace

WorkedExample explain_mixture_head(const HeadSpec& head, const ShortNumbers& numbers) {
  std::string kernels;
  for (int64_t k = 0; k < head.size(); ++k)
    kernels +=
        concat(k > 0 ? ", " : "", k + 1, " is ", to_text(head.components[static_cast<size_t>(k)]));
  return MixtureExample(head, numbers)
      .run({numbers, concat("mixture: p(v) = sum_k pi_k p_k(v); component ", kernels,
                            head.contexts ? "; component k takes the context tanh(C_k' h)"
                                          : ", and all take h itself")});
}

HeadSpec mixture_example_head() { return parse_head("mix:lin,rbf", {.head_context = "none"}); }

WorkedExample explain_mixture(const ShortNumbers& numbers) {
  return explain_mixture_head(mixture_example_head(), numbers);
}

}  // namespace nine::app
