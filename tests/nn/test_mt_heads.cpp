// Every head on the Transformer: its parameters, its loss against plain loops over scores,
// gradients by finite differences, regularisers and the prior's statistics.
#include <doctest/doctest.h>

#include <cmath>

#include "checks/op_cases.h"
#include "nn/models/transformer.h"
#include "nn/training/translation_task.h"
#include "tests/kernels/score_oracle.h"
#include "tests/support/support.h"

namespace nine::tests::test_mt_heads {

using namespace nine::checks;

namespace {

TransformerConfig config_of(const std::string& head, bool untied, bool tie) {
  return {.src_vocab = 7,
          .tgt_vocab = 8,
          .encoder_layers = 1,
          .decoder_layers = 1,
          .dim = 6,
          .ffn = 9,
          .heads = 2,
          .dropout = 0,
          .tie_embeddings = tie,
          .head = {.spec = parse_head(head, {.untied = untied}), .bias = !tie},
          .max_length = 16};
}

TranslationBatch one_batch() {
  return TranslationBatch::of_padded(tensor_of(Ints{3, 4, 5, 2, 6, 2, 1, 1}, {2, 4}),
                                     tensor_of(Ints{2, 5, 6, 2, 7, 1}, {2, 3}),
                                     tensor_of(Ints{5, 6, 2, 7, 2, 1}, {2, 3}), 1);
}

struct Small {
  explicit Small(const TransformerConfig& c)
      : model(set, c), batches(model, [](TranslationBatch& b) {
          b = one_batch();
          return true;
        }) {
    batches.fetch(1);
  }
  // The objective of the batch, as a training step has it.
  double objective(Tape& tape) {
    const double loss = batches.forward(tape, 0, 1.0 / 5).loss.value().item();
    tape.reset();
    return loss;
  }
  ParameterSet set{{.dtype = DType::float64, .seed = 5}};
  Transformer model;
  TranslationSource batches;
};

// Sum of -log p over the batch's targets, from the decoder's output by the formulas of
// docs/heads.md, section 4.
double plain_nll(Small& s) {
  const TransformerConfig& c = s.model.config();
  const auto values = [&](const char* name) { return s.set.at(name).value().to_vector(); };
  const auto d = static_cast<size_t>(c.dim), size = static_cast<size_t>(c.head.spec.size()),
             words = static_cast<size_t>(c.tgt_vocab);
  Doubles w;
  if (c.tie_embeddings) w = values("tgt_embedding.weight");
  if (!c.tie_embeddings || (c.head.spec.untied && size > 1))
    for (const double x : values("head.weight")) w.push_back(x);
  CHECK(w.size() == (c.head.spec.untied ? size : 1) * words * d);
  const Doubles bias = c.head.bias ? values("head.bias") : Doubles(words);
  Arena pool("plain");
  Tape tape(pool);
  const NoGrad guard(tape);
  const TranslationBatch b = one_batch();
  const Doubles hidden = s.model
                             .decode(s.model.encode(tape, b.src, b.src_lengths), b.src_lengths,
                                     b.tgt_in, b.tgt_lengths)
                             .value()
                             .to_vector();
  double total = 0;
  for (size_t n = 0; n < 6; ++n) {
    const int32_t y = b.tgt_out.data<int32_t>()[n];
    if (y < 0) continue;
    const Reals h(hidden.begin() + static_cast<int64_t>(n * d),
                  hidden.begin() + static_cast<int64_t>((n + 1) * d));
    Doubles logits(size);
    double priors = 0, p = 0;
    for (size_t k = 0; k < size && c.head.spec.mixture; ++k) {
      for (size_t i = 0; i < d; ++i)
        logits[k] += values("head.prior.weight")[k * d + i] * static_cast<double>(h[i]);
      priors += std::exp(logits[k]);
    }
    for (size_t k = 0; k < size; ++k) {
      Reals context = h;
      for (size_t i = 0; i < d && c.head.spec.contexts; ++i) {
        long double sum = 0;
        for (size_t j = 0; j < d; ++j)
          sum += static_cast<long double>(values("head.latent.weight")[(k * d + i) * d + j]) * h[j];
        context[i] = std::tanh(sum);
      }
      long double sum = 0, own = 0;
      for (size_t v = 0; v < words; ++v) {
        const auto begin =
            w.begin() + static_cast<int64_t>(((c.head.spec.untied ? k * words : 0) + v) * d);
        const long double e =
            std::exp(dense_score(c.head.spec.components[k],
                                 Reals(begin, begin + static_cast<int64_t>(d)), context) +
                     static_cast<long double>(bias[v]));
        sum += e;
        if (static_cast<int32_t>(v) == y) own = e;
      }
      p +=
          (c.head.spec.mixture ? std::exp(logits[k]) / priors : 1) * static_cast<double>(own / sum);
    }
    total -= std::log(p);
  }
  return total;
}

}  // namespace

TEST_CASE("mt heads: the loss is that of plain loops, whatever the head and however tied") {
  for (const char* head : {"rbf", "mix:2*lin,log", "mixbig", "mix:1*lin"})
    for (const bool untied : {false, true})
      for (const bool tie : {false, true}) {
        if (untied && std::string(head) == "rbf") continue;
        CAPTURE(head);
        CAPTURE(untied);
        CAPTURE(tie);
        Small s(config_of(head, untied, tie));
        Arena pool("heads");
        Tape tape(pool);
        CHECK(s.objective(tape) == doctest::Approx(plain_nll(s) / 5).epsilon(1e-12));
      }
}

TEST_CASE(
    "mt heads: gradients of a mixture's objective, regularised and smoothed, by finite "
    "differences") {
  for (const bool untied : {false, true}) {
    TransformerConfig c = config_of("mix:lin,rbf", untied, true);
    c.head.loss.smoothing.epsilon = 0.1;
    c.head.loss.prior = prior_regulariser_from_text("variance:0.3");
    c.head.norm_reg = norm_regulariser_from_text("squared:0.2,0.7");
    Small s(c);
    Arena pool("heads");
    Tape tape(pool);
    const double loss = s.objective(tape);
    c.head.loss.prior = {};
    c.head.norm_reg = {};
    Small bare(c);
    CHECK(loss > bare.objective(tape) + 1e-3);
    s.set.zero_grad();  // a head's are formed on the way forward, and every recorded pass adds to
                        // them
    tape.backward(s.batches.forward(tape, 0, 1.0 / 5).loss);
    tape.reset();
    s.set.zero_missing_grads();
    const Tensor slab = s.set.gradients().clone();
    const std::vector<NamedView> gradients = s.set.named(slab);
    for (size_t n = 0; n < gradients.size(); ++n) {
      const Parameter& p = s.set.all()[n];
      CAPTURE(p.name);
      for (const int64_t i : {int64_t{0}, p.value().elements() / 3, p.value().elements() - 1}) {
        double& x = p.value().data<double>()[i];
        const double before = x, step = 1e-5;
        x = before + step;
        const double above = s.objective(tape);
        x = before - step;
        const double below = s.objective(tape);
        x = before;
        CHECK(gradients[n].view.as<double>()[i] ==
              doctest::Approx((above - below) / (2 * step)).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("mt heads: the prior's statistics are of the rows that predict something") {
  Small s(config_of("mix:2*lin,log", false, true));
  Arena pool("heads");
  Tape tape(pool);
  s.objective(tape);
  const MixtureWeightStats& prior = s.batches.mixture_weight_stats();
  const Doubles mean = prior.mean();
  CHECK(mean.size() == 3);
  CHECK(mean[0] + mean[1] + mean[2] == doctest::Approx(1).epsilon(1e-12));
  CHECK(prior.sums().to_vector()[0] == 5);
  Small single(config_of("log", false, true));
  single.objective(tape);
  CHECK(!single.batches.mixture_weight_stats());
}

TEST_CASE("mt heads: names, shapes and the tie; what cannot be is an Error") {
  Small s(config_of("mix:2*lin,log", true, true));
  CHECK(s.set.at("head.weight").value().shape() == Shape{2, 8, 6});
  CHECK(s.set.at("head.prior.weight").value().shape() == Shape{3, 6});
  CHECK(s.set.at("head.latent.weight").value().shape() == Shape{18, 6});
  CHECK(s.model.metadata().at("tied") == "the first of head.weight=tgt_embedding.weight");
  TransformerConfig c = config_of("mog:components=4", false, true);
  CHECK(has(error_of([&] { Small{c}; }), "head mog:components=4"));
}

}  // namespace nine::tests::test_mt_heads
