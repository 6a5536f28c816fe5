// Sampled softmax (docs/margins.md): the words that are drawn, the loss over them against plain
// loops, gradients, all words as the limit, and the programs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/ops.h"
#include "nn/softmax_head.h"
#include "tests/support/compare.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

#include "checks/values.h"

namespace nine::tests::test_sampled_softmax {
namespace {

using namespace nine::checks;
using Strings = std::vector<std::string>;

Doubles counts_of(int64_t words) {
  Doubles c;
  for (int64_t v = 0; v < words; ++v) c.push_back(static_cast<double>((7 * v + 3) % 23));
  return c;
}

// A head with its sampled loss for fixed contexts and targets.
struct Small {
  HeadConfig config;
  int64_t words = 60, rows = 21, size = 4;
  ParameterSet set{{.dtype = DType::float64, .seed = 4}};
  SoftmaxHead head;
  Tensor h, targets;
  Arena pool{"sampled"};
  Tape tape{pool};

  explicit Small(const HeadConfig& c)
      : config(c),
        head(set, "head", c, 60, 4, Init::normal(0.7)),
        h(tensor_of(random_values({{{21, 4}}}, 3)[0], {21, 4}, DType::float64)),
        targets(tensor_of(random_indices({{{21}, -1, 60}}, 5)[0], {21})) {
    std::vector<int64_t> counts;
    for (const double x : counts_of(words)) counts.push_back(static_cast<int64_t>(x));
    head.set_counts(counts);
    if (c.bias) {
      const Doubles b = random_values({{{words}}}, 8)[0];
      ops::copy(tensor_of(b, {words}, DType::float64), set.at("head.bias").value());
    }
  }
  RandomKey key(uint32_t step) const { return {.seed = 9, .step = step}; }
  // Loss, -log p, and with `gradients` those of all parameters and of h.
  struct Result {
    double loss = 0;
    Doubles nll, gradients, dh;
  };
  Result run(uint32_t step = 1, bool gradients = true) {
    tape.reset();
    set.zero_grad();
    tape.set_random_key(key(step));
    const Var x = tape.leaf(h);
    const SoftmaxLoss out = head.loss(x, targets, 0.1);
    Result r{out.loss.value().item(), out.nll.value().to_vector(), {}, {}};
    if (!gradients) return r;
    tape.backward(out.loss);
    set.zero_missing_grads();
    r.gradients = set.gradients().to_vector();
    r.dh = x.grad().to_vector();
    return r;
  }
};

HeadConfig sampled(const char* text, const char* head = "lin", bool untied = false) {
  return {.spec = parse_head(head, {.untied = untied}),
          .bias = true,
          .sampled = sampled_softmax_from_text(text)};
}

Outcome train(const TemporaryDirectory& dir, const std::string& run, const std::string& updates,
              const Strings& more) {
  Strings arguments = tiny_lm_flags(dir / run, updates);
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program("lm_train", arguments);
}

}  // namespace

TEST_CASE("sampled softmax: texts") {
  for (const char* text : {"8:log-uniform", "100:unigram", "3:unigram^0.75"})
    CHECK(to_text(sampled_softmax_from_text(text)) == text);
  CHECK(to_text(sampled_softmax_from_text("8192")) == "8192:log-uniform");
  CHECK(to_text(sampled_softmax_from_text("")).empty());
  const auto error = [](const char* text) {
    return error_of([&] { sampled_softmax_from_text(text); });
  };
  CHECK(has(error("0"), "above 0"));
  CHECK(has(error("x"), "above 0"));
  CHECK(has(error("8:unigran"), "did you mean unigram"));
}

TEST_CASE("sampled softmax: what is drawn follows Q") {
  const int64_t words = 30;
  const Doubles counts = counts_of(words);
  std::vector<int32_t> order;
  for (int32_t v = 0; v < words; ++v) order.push_back(v);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return counts[static_cast<size_t>(a)] > counts[static_cast<size_t>(b)];
  });
  for (const char* text : {"1:log-uniform", "1:unigram", "1:unigram^0.75"}) {
    CAPTURE(text);
    const WordSampler sampler(sampled_softmax_from_text(text), counts);
    Doubles q(words), seen(words);
    double all = 0;
    for (int32_t r = 0; r < words; ++r) {
      const double c = std::max(1.0, counts[static_cast<size_t>(order[static_cast<size_t>(r)])]);
      double& x = q[static_cast<size_t>(order[static_cast<size_t>(r)])];
      x = text[2] == 'l' ? std::log((r + 2.0) / (r + 1.0)) / std::log(words + 1.0)
          : text[9] == 0 ? c
                         : std::pow(c, 0.75);
      all += x;
    }
    constexpr int kDraws = 40000;
    for (uint32_t i = 0; i < kDraws; ++i) {
      const SampledWords s = sampler.sample({.seed = 3, .step = i}, {});
      REQUIRE(s.words.size() == 1);
      ++seen[static_cast<size_t>(s.words[0])];
      // One draw: E is Q.
      CHECK(std::abs(std::exp(-s.log_weights[0]) - q[static_cast<size_t>(s.words[0])] / all) <
            1e-12);
    }
    for (size_t v = 0; v < q.size(); ++v) {
      const double p = q[v] / all;
      CHECK(std::abs(seen[v] / kDraws - p) < 5 * std::sqrt(p / kDraws));
    }
  }
  const WordSampler sampler(sampled_softmax_from_text("12"), counts);
  const std::vector<int32_t> targets{3, -1, 29, 3};
  const SampledWords s = sampler.sample({.seed = 1}, targets, 17);
  CHECK(std::count(s.drawn.begin(), s.drawn.end(), true) == 12);
  CHECK(std::set<int32_t>(s.words.begin(), s.words.end()).size() == s.words.size());
  CHECK(std::is_sorted(s.words.begin(), s.words.end()));
  for (const int32_t v : {3, 29, 17}) CHECK(std::count(s.words.begin(), s.words.end(), v) == 1);
  CHECK(s.targets[1] == -1);
  CHECK(s.words[static_cast<size_t>(s.targets[2])] == 29);
  CHECK(s.words == sampler.sample({.seed = 1}, targets, 17).words);
  CHECK(s.words != sampler.sample({.seed = 2}, targets, 17).words);
  CHECK(has(error_of([&] { WordSampler(sampled_softmax_from_text("31"), counts); }), "at most 30"));
}

TEST_CASE("sampled softmax: the loss is that of plain loops over the drawn words") {
  for (const char* text : {"7", "25:unigram", "40:unigram^0.75"}) {
    CAPTURE(text);
    Small s(sampled(text));
    const Small::Result found = s.run(3, false);
    const WordSampler sampler(s.config.sampled, counts_of(s.words));
    RandomKey key = s.key(3);
    key.op = stream_id("head.sample");
    const int32_t* y = s.targets.data<int32_t>();
    const SampledWords drawn = sampler.sample(key, {y, static_cast<size_t>(s.rows)});
    const Doubles w = s.set.at("head.weight").value().to_vector(),
                  b = s.set.at("head.bias").value().to_vector(), h = s.h.to_vector();
    double loss = 0;
    for (size_t r = 0; r < static_cast<size_t>(s.rows); ++r) {
      if (y[r] < 0) continue;
      double own = 0, sum = 0;
      for (size_t i = 0; i < drawn.words.size(); ++i) {
        const auto v = static_cast<size_t>(drawn.words[i]);
        double score = b[v] + drawn.log_weights[i];
        for (size_t k = 0; k < 4; ++k) score += w[4 * v + k] * h[4 * r + k];
        if (drawn.words[i] == y[r]) own = score;
        if (drawn.words[i] == y[r] || drawn.drawn[i]) sum += std::exp(score);
      }
      CHECK(std::abs(found.nll[r] - (std::log(sum) - own)) < 1e-12);
      loss += 0.1 * (std::log(sum) - own);
    }
    CHECK(std::abs(found.loss - loss) < 1e-12);
  }
}

TEST_CASE("sampled softmax: of all words it is the full softmax") {
  for (const char* head : {"lin", "rbf", "mix:2*lin", "mog"})
    for (const bool margins : {false, true}) {
      if (margins && !std::string(head).ends_with("lin")) continue;
      for (const bool untied : {false, true}) {
        if (untied && std::string(head) != "mix:2*lin") continue;
        CAPTURE(head);
        CAPTURE(untied);
        HeadConfig some = sampled("60", head, untied);
        if (margins) {
          some.loss.margin = {Margin::Kind::cos, 0.2};
          some.norms.word = word_norm_from_text("log-rank:through");
          some.norms.context = context_norm_from_text("max:through");
        }
        HeadConfig all = some;
        all.sampled = {};
        Small a(some), b(all);
        const Small::Result x = a.run(), z = b.run();
        CHECK(std::abs(x.loss - z.loss) < 1e-12 * z.loss);
        CHECK(relative_error(x.nll, z.nll) < 1e-12);
        CHECK(relative_error(x.gradients, z.gradients) < 1e-11);
        CHECK(relative_error(x.dh, z.dh) < 1e-11);
      }
    }
}

TEST_CASE("sampled softmax: gradients are finite differences, and evaluation is the full softmax") {
  for (const char* head : {"lin", "mix:2*lin", "pow:p=2"})
    for (const bool margins : {false, true}) {
      if (margins && !std::string(head).ends_with("lin")) continue;
      CAPTURE(head);
      CAPTURE(margins);
      HeadConfig config = sampled("11", head);
      if (margins) {
        config.loss.margin = {Margin::Kind::lsm, 2};
        config.norms.word = word_norm_from_text("uniform:through");
        config.norms.context = context_norm_from_text("const:2");
      }
      Small s(config);
      const Small::Result r = s.run(7);
      double* values = s.set.values().data<double>();
      double top = 0;
      for (const double g : r.gradients) top = std::max(top, std::abs(g));
      for (int64_t i = 0; i < s.set.values().elements(); i += 5) {
        const double before = values[i], e = 1e-6;
        values[i] = before + e;
        const double up = s.run(7, false).loss;
        values[i] = before - e;
        const double down = s.run(7, false).loss;
        values[i] = before;
        CHECK(std::abs(r.gradients[static_cast<size_t>(i)] - (up - down) / (2 * e)) < 1e-6 * top);
      }
      CHECK(s.run(7).gradients == r.gradients);
      CHECK(s.run(8).loss != r.loss);
      HeadConfig full = config;
      full.sampled = {};
      Small other(full);
      const NoGrad a(s.tape), b(other.tape);
      CHECK(relative_error(s.run(1, false).nll, other.run(1, false).nll) < 1e-14);
    }
}

TEST_CASE("sampled softmax: a run goes on to the same bits; what does not fit together") {
  const TemporaryDirectory dir;
  const Strings options{"--sampled-softmax", "50", "--margin", "cos:0.1"};
  const Outcome once = train(dir, "whole", "20u", options);
  REQUIRE_MESSAGE(once.code == 0, once.err);
  REQUIRE(train(dir, "parts", "10u", options).code == 0);
  REQUIRE(train(dir, "parts", "20u", options).code == 0);
  CHECK(weights_of(dir / "whole") == weights_of(dir / "parts"));
  for (const Json& event : log_of(dir / "whole"))
    if (event["event"] == "train") CHECK(event["estimate"] == true);
  CHECK(run_program("lm_score", {"--checkpoint", dir / "whole"}, "the cat\n").code == 0);
  const Outcome smoothed =
      train(dir, "no", "5u", {"--sampled-softmax", "50", "--label-smoothing", "0.1"});
  CHECK(smoothed.code == 2);
  CHECK(has(smoothed.err, "--label-smoothing"));
  CHECK(has(smoothed.err, "set label smoothing"));
  const Outcome many = train(dir, "no", "5u", {"--sampled-softmax", "100000"});
  CHECK(many.code != 0);
  CHECK(has(many.err, "words; draw at most "));
  const Outcome translation = run_program(
      "mt_train",
      {"--sample", "--sample-pairs", "200", "--sampled-softmax", "50", "--run", dir / "mt"});
  CHECK(translation.code == 2);  // its default label smoothing
  CHECK(has(translation.err, "set label smoothing"));
}

}  // namespace nine::tests::test_sampled_softmax
