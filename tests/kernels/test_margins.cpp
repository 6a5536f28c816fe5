// Margins and norms of the kernel softmax (docs/margins.md): against dense formulas, finite
// differences, and each other; at the ends of their ranges; in training, evaluation and decoding.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numbers>
#include <string>
#include <thread>
#include <vector>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "checks/op_cases.h"
#include "core/threads.h"
#include "kernels/decoding/head_decoder.h"
#include "kernels/loss/kernel_softmax.h"
#include "kernels/options/angle.h"
#include "nn/softmax_head.h"
#include "tests/kernels/margin_oracle.h"
#include "tests/support/compare.h"
#include "tests/support/support.h"

namespace nine::tests::test_margins {

using namespace nine::checks;

namespace {

constexpr double kPi = std::numbers::pi;

struct Result {
  double loss = 0;
  Doubles nll;
  std::vector<Doubles> gradients;
};

Result run(const MarginProblem& p, const HeadNorms& norms, const std::vector<Tensor>& inputs) {
  Arena pool("margins");
  Tape tape(pool);
  std::vector<Var> x;
  for (const Tensor& t : inputs) x.push_back(tape.leaf(t));
  HeadWeights weights = p.weights(x);
  weights.norms = norms;
  const HeadSpec spec = p.spec();
  const SoftmaxLoss out = kernel_softmax(spec, x[0], weights, p.targets(), 0.3, p.loss());
  Result r{out.loss.value().item(), out.nll.value().to_vector(), {}};
  tape.backward(out.loss);
  const bool used[] = {true, true, true, spec.mixture, spec.contexts};
  for (size_t i = 0; i < x.size(); ++i)
    if (used[i]) r.gradients.push_back(x[i].grad().to_vector());
  return r;
}
Result run(const MarginProblem& p, DType dtype = DType::float64) {
  return run(p, p.norms(), p.inputs(dtype));
}

void check_same(const Result& a, const Result& b, double limit) {
  CHECK(std::abs(a.loss - b.loss) < limit * std::abs(b.loss));
  CHECK(relative_error(a.nll, b.nll) < limit);
  REQUIRE(a.gradients.size() == b.gradients.size());
  for (size_t i = 0; i < a.gradients.size(); ++i) {
    CAPTURE(i);
    CHECK(relative_error(a.gradients[i], b.gradients[i]) < limit);
  }
}

// Norms that do not follow the weights: what those without `:through` are to their gradients.
HeadNorms frozen(const MarginProblem& p, const std::vector<Tensor>& inputs) {
  HeadNorms norms = p.norms();
  const std::vector<double> w = inputs[1].to_vector(), h = inputs[0].to_vector();
  const auto norm_of = [&](const std::vector<double>& x, int64_t r) {
    return scores::norm(x.data() + r * p.size, p.size);
  };
  if (norms.first_word >= 0 && !norms.word.through) {
    const double first = norm_of(w, norms.first_word);
    std::vector<double> ratios = norms.ratios.to_vector();
    for (double& r : ratios) r *= first;
    norms.ratios = Tensor::from(ratios, {p.words});
    norms.first_word = -1;
    norms.word = {.kind = WordNorm::Kind::constant, .a = 1};
  }
  if (norms.context.of_batch() && !norms.context.through) {
    const Tensor targets = p.targets();
    double largest = 0;
    for (int64_t r = 0; r < p.rows; ++r)
      if (targets.data<int32_t>()[r] >= 0) largest = std::max(largest, norm_of(h, r));
    norms.context = {.kind = ContextNorm::Kind::constant, .value = largest};
  }
  return norms;
}

double finite_difference_error(const MarginProblem& p, const HeadNorms& norms,
                               const std::vector<Tensor>& inputs) {
  const HeadSpec spec = p.spec();
  const auto f = [&](std::span<const Var> x) {
    HeadWeights weights = p.weights(x);
    weights.norms = norms;
    return kernel_softmax(spec, x[0], weights, p.targets(), 0.3, p.loss()).loss;
  };
  std::vector<Tensor> used{inputs[0], inputs[1], inputs[2]};
  if (spec.mixture) used.push_back(inputs[3]);
  if (spec.contexts) used.push_back(inputs[4]);
  // kernel_softmax's loss must be the end of a step, which gradcheck's weighted sum of one number
  // is.
  const GradcheckReport report = gradcheck(
      [&](std::span<const Var> x) {
        std::vector<Var> all(x.begin(), x.end());
        all.resize(5);
        return f(all);
      },
      used, {.eps = 1e-5, .max_elements = 40});
  INFO(report.where);
  return report.worst;
}

}  // namespace

TEST_CASE("margins: loss and -log p are those of dense formulas") {
  for (const char* head : {"lin", "mix:3*lin"})
    for (const char* word : kWordNorms)
      for (const char* context : kContextNorms) {
        const MarginProblem p{.head = head,
                              .rows = 35,
                              .words = 67,
                              .size = 4,
                              .margin = kMargins[(word[0] + context[0]) % 6],
                              .word = word,
                              .context = context,
                              .scale = 1.5};
        CAPTURE(p.head);
        CAPTURE(p.margin);
        CAPTURE(p.word);
        CAPTURE(p.context);
        const DenseLoss expected = dense_loss(p, p.inputs());
        const Result found = run(p);
        CHECK(std::abs(found.loss - expected.loss) < 1e-12 * std::abs(expected.loss));
        CHECK(relative_error(found.nll, expected.nll) < 1e-12);
      }
  for (const char* margin : kMargins)
    for (const auto kind : {LabelSmoothing::Kind::uniform, LabelSmoothing::Kind::others})
      for (const bool untied : {false, true}) {
        const MarginProblem p{.head = untied ? "mix:2*lin" : "lin",
                              .untied = untied,
                              .margin = margin,
                              .word = "uniform",
                              .context = "max",
                              .options = {.smoothing = {0.2, kind}}};
        CAPTURE(p.margin);
        CAPTURE(untied);
        const DenseLoss expected = dense_loss(p, p.inputs());
        const Result found = run(p);
        CHECK(std::abs(found.loss - expected.loss) < 1e-12 * std::abs(expected.loss));
        CHECK(relative_error(found.nll, expected.nll) < 1e-12);
      }
}

TEST_CASE("margins: a margin of nothing is no margin, and norms of their own are lin") {
  for (const char* head : {"lin", "mix:2*lin"})
    for (const char* margin : {"cos:0", "arc:0", "lsm:1"})
      for (const char* norms : {"none", "others"}) {
        MarginProblem p{.head = head};
        if (std::string(norms) == "others") p.word = "log-rank", p.context = "max";
        const Result plain = run(p);
        p.margin = margin;
        CAPTURE(head);
        CAPTURE(margin);
        CAPTURE(norms);
        check_same(run(p), plain, 1e-12);
      }
}

TEST_CASE("margins: gradients are finite differences") {
  for (const char* margin : kMargins)
    for (const char* word : {"none", "const:2.5", "uniform", "uniform:through",
                             "log-rank:ratio:through", "log-unigram:scaled:through"})
      for (const char* context : {"none", "const:3", "max", "max:through"}) {
        MarginProblem p{
            .rows = 9, .words = 7, .size = 3, .margin = margin, .word = word, .context = context};
        CAPTURE(p.margin);
        CAPTURE(p.word);
        CAPTURE(p.context);
        const std::vector<Tensor> inputs = p.inputs();
        const HeadNorms fixed = frozen(p, inputs);
        check_same(run(p, p.norms(), inputs), run(p, fixed, inputs), 1e-12);
        CHECK(finite_difference_error(p, fixed, inputs) < 1e-6);
      }
  for (const char* margin : {"cos:0.35", "arc:0.5", "lsm:3"})
    for (const bool untied : {false, true}) {
      const MarginProblem p{.head = "mix:2*lin",
                            .untied = untied,
                            .rows = 11,
                            .words = 6,
                            .size = 3,
                            .margin = margin,
                            .word = "log-rank:through",
                            .context = "max:through",
                            .options = {.smoothing = {0.1, LabelSmoothing::Kind::uniform}}};
      CAPTURE(p.margin);
      CAPTURE(untied);
      CHECK(finite_difference_error(p, p.norms(), p.inputs()) < 1e-6);
    }
}

TEST_CASE("margins: arc has finite differences on either side of pi - m") {
  for (const double m : {0.4, 2.0, 3.0})
    for (const double beyond : {-0.02, 0.02}) {
      MarginProblem p{.rows = 1, .words = 3, .size = 2, .margin = concat("arc:", m)};
      std::vector<Tensor> inputs = p.inputs();
      const double theta = kPi - m + beyond;
      for (int64_t v = 0; v < 3; ++v) {  // every word, so also the target
        inputs[1].data<double>()[2 * v] = 1.5 * std::cos(theta);
        inputs[1].data<double>()[2 * v + 1] = 1.5 * std::sin(theta);
      }
      inputs[0].data<double>()[0] = 0.8;
      inputs[0].data<double>()[1] = 0;
      CAPTURE(p.margin);
      CAPTURE(beyond);
      CHECK(finite_difference_error(p, p.norms(), inputs) < 1e-6);
    }
}

TEST_CASE("margins: arc of parallel vectors has the gradient along them, to the last digits") {
  for (const double m : {0.3, 1.0, 2.0})
    for (const auto& w : {std::array{1.0, 0.5}, {3.0, 1.5}, {0.7, 0.35}, {1e-3, 5e-4}}) {
      const double h[] = {1.0, 0.5};
      CAPTURE(m);
      CAPTURE(w[0]);
      const scores::AnglePair<double> pair(w.data(), h, 2);
      const scores::AngleScore psi =
          scores::margin_at({Margin::Kind::arc, m}, pair.cosine, pair.sine);
      double dw[2] = {}, dh[2] = {};
      pair.add_gradients(psi, 1, dw, dh);
      // S = |w| |h| cos(m) where both have one direction, and no slope across it.
      for (size_t i = 0; i < 2; ++i) {
        CHECK(dw[i] == doctest::Approx(std::cos(m) * h[i]).epsilon(1e-12));
        CHECK(dh[i] == doctest::Approx(std::cos(m) * w[i]).epsilon(1e-12));
      }
    }
  // A little beside: sin(theta + m) / sin(theta).
  for (const double theta : {1e-8, 1e-4, 0.5})
    CHECK(scores::margin_at({Margin::Kind::arc, 1}, std::cos(theta), std::sin(theta)).slope ==
          doctest::Approx(std::sin(theta + 1) / std::sin(theta)).epsilon(1e-12));
}

TEST_CASE("margins: float32 is float64 to 1e-5, tiles are blocks, threads change no bit") {
  for (const char* head : {"lin", "mix:3*lin"})
    for (const char* margin : {"cos:0.35", "arc:0.5", "lsm:4"}) {
      MarginProblem p{.head = head,
                      .rows = 70,
                      .words = 300,
                      .size = 16,
                      .margin = margin,
                      .word = "log-unigram:scaled:through",
                      .context = "max:through"};
      CAPTURE(head);
      CAPTURE(margin);
      const Result exact = run(p), rounded = run(p, DType::float32);
      check_same(rounded, exact, 1e-5);
      p.options.memory = HeadMemory::tiles;
      check_same(run(p), exact, 1e-12);
      p.options.memory = HeadMemory::blocks;
      const Restore restore;
      set_threads(threads() + 2);
      const Result other = run(p, DType::float32);
      CHECK(other.loss == rounded.loss);
      CHECK(other.nll == rounded.nll);
      CHECK(other.gradients == rounded.gradients);
    }
}

TEST_CASE("margins: vectors without a direction or with one, and one word") {
  for (const char* margin :
       {"none", "cos:0.35", "cos:0", "arc:0", "arc:0.5", "arc:3.14159", "lsm:1", "lsm:2", "lsm:64"})
    for (const char* word : {"none", "const:2", "uniform:through"})
      for (const char* context : {"none", "const:3", "max:through"}) {
        CAPTURE(margin);
        CAPTURE(word);
        CAPTURE(context);
        MarginProblem p{
            .rows = 9, .words = 7, .size = 3, .margin = margin, .word = word, .context = context};
        std::vector<Tensor> inputs = p.inputs();
        double *h = inputs[0].data<double>(), *w = inputs[1].data<double>();
        const Tensor targets = p.targets();
        // Rows 0, 3 and 6 have the words 6, 3 and 3 as targets: w_6 = 0, h_3 = 0, w_3 = -h_6.
        std::fill_n(w + 18, 3, 0.0);
        std::fill_n(h + 9, 3, 0.0);
        for (int64_t i = 0; i < 3; ++i) w[9 + i] = -2 * h[18 + i];
        REQUIRE(targets.data<int32_t>()[0] == 6);
        REQUIRE(targets.data<int32_t>()[6] == 3);
        const DenseLoss expected = dense_loss(p, inputs);
        const Result found = run(p, p.norms(), inputs);
        CHECK(std::abs(found.loss - expected.loss) < 1e-9 * std::abs(expected.loss));
        CHECK(relative_error(found.nll, expected.nll) < 1e-12);
        for (const Doubles& g : found.gradients)
          CHECK(std::all_of(g.begin(), g.end(), [](double x) { return std::isfinite(x); }));
        for (int64_t i = 0; i < 3; ++i) w[9 + i] = 2 * h[18 + i];  // c = 1
        for (const Doubles& g : run(p, p.norms(), inputs).gradients)
          CHECK(std::all_of(g.begin(), g.end(), [](double x) { return std::isfinite(x); }));
        MarginProblem one = p;
        one.words = 1;
        const Result alone = run(one);
        CHECK(std::abs(alone.loss) < 1e-12);
        for (const double x : alone.nll) CHECK(std::abs(x) < 1e-12);
        for (const Doubles& g : alone.gradients)
          for (const double x : g) CHECK(std::abs(x) < 1e-12);
      }
}

TEST_CASE("margins: a target that every component of a mixture excludes has the probability 0") {
  const double none = -std::numeric_limits<double>::infinity();
  const auto log_p = [&](int64_t excluded) {
    return scores::plain_log_p(3, [&](int64_t k) {
      const double score = k < excluded ? none : 1.0;
      return scores::TargetScores{std::log(1.0 / 3), 2.0, score, score};
    });
  };
  CHECK(log_p(3) == none);
  CHECK(std::abs(log_p(2) - (std::log(1.0 / 3) - 1)) < 1e-14);
  CHECK(std::abs(log_p(0) + 1) < 1e-14);
}

TEST_CASE("margins: for inner products only") {
  for (const char* head : {"log", "mix:lin,rbf"}) {
    HeadSettings s{.head = head};
    for (auto [member, value, what] :
         std::initializer_list<std::tuple<std::string HeadSettings::*, const char*, const char*>>{
             {&HeadSettings::margin, "cos:0.1", "margin cos:0.1"},
             {&HeadSettings::word_norm, "const:1", "word norm const:1"},
             {&HeadSettings::context_norm, "max", "context norm max"}}) {
      HeadSettings with = s;
      with.*member = value;
      const std::string error = error_of([&] { with.head_config(); });
      CHECK(has(error, what));
      CHECK(has(error, std::string(head) == "log" ? "component log" : "component rbf"));
      CHECK(has(error, "mix:2*lin"));
    }
  }
  MarginProblem p{.head = "log:p=2", .margin = "cos:0.1"};
  CHECK(has(error_of([&] { run(p); }), "inner products"));
  p = {.head = "mix:lin,rbf", .context = "const:2"};
  CHECK(has(error_of([&] { run(p); }), "inner products"));
  p = {.word = "uniform"};
  HeadNorms norms = p.norms();
  norms.ratios = {};
  CHECK(has(error_of([&] { run(p, norms, p.inputs()); }), "ratios"));
}

TEST_CASE("margins: a head in training and evaluation") {
  for (const char* context : {"max", "max:ema"}) {
    ParameterSet set({.dtype = DType::float64, .seed = 3});
    const HeadConfig config{.bias = true,
                            .loss = {.margin = margin_from_text("cos:0.3")},
                            .norms = {.word = word_norm_from_text("log-rank"),
                                      .context = context_norm_from_text(context)}};
    const SoftmaxHead head(set, "head", config, 7, 3, Init::normal(1));
    const Tensor targets = tensor_of(Ints{1, -1, 4, 0}, {4});
    const Doubles small = random_values({{{4, 3}}}, 5)[0];
    const auto batch = [&](double scale) {
      Doubles h = small;
      for (double& x : h) x *= scale;
      return tensor_of(h, {4, 3}, DType::float64);
    };
    Arena pool("head");
    Tape tape(pool);
    const auto evaluate = [&](const Tensor& h) {
      const NoGrad guard(tape);
      tape.reset();
      Doubles nll = head.loss(tape.constant(h), targets, 1).nll.value().to_vector();
      const Doubles log_p = head.log_probabilities(tape.constant(h)).to_vector();
      for (size_t r = 0; r < 4; ++r)
        if (const int32_t y = targets.data<int32_t>()[r]; y >= 0)
          CHECK(std::abs(nll[r] + log_p[r * 7 + static_cast<size_t>(y)]) < 1e-12);
      return nll;
    };
    const auto train = [&](const Tensor& h) {
      tape.reset();
      const SoftmaxLoss out = head.loss(tape.leaf(h), targets, 1);
      Doubles nll = out.nll.value().to_vector();
      tape.backward(out.loss);
      return nll;
    };
    CHECK(has(error_of([&] { evaluate(batch(1)); }), "head.counts"));
    CHECK(has(error_of([&] { head.set_counts(std::vector<int64_t>(3, 1)); }), "3 counts"));
    head.set_counts(std::vector<int64_t>{9, 3, 4, 1, 1, 0, 2});
    double largest = 0;
    for (const size_t r : {0, 2, 3})
      largest = std::max(largest, scores::norm(small.data() + 3 * r, 3));
    const auto running = [&] {
      for (const NamedView& v : set.state())
        if (v.name.starts_with("head.context_max")) return v.view.item();
      return -1.0;
    };
    CHECK(running() == 0);
    const Doubles before = evaluate(batch(1));  // G is 1
    CHECK(running() == 0);
    const Doubles trained = train(batch(2));
    CHECK(running() == doctest::Approx(2 * largest).epsilon(1e-14));
    CHECK(relative_error(evaluate(batch(2)), trained) < 1e-12);
    CHECK(relative_error(before, trained) > 1e-3);
    // Rows of any length are evaluated alike: only directions count.
    CHECK(relative_error(evaluate(batch(0.1)), evaluate(batch(7))) < 1e-12);
    train(batch(1));
    const bool average = std::string(context) == "max:ema";
    CHECK(running() ==
          doctest::Approx(average ? (2 * 0.99 + 0.01) * largest : 2 * largest).epsilon(1e-14));
    // The head's values and buffers, saved and loaded.
    const std::string file = "/tmp/nine_test_margins.safetensors";
    set.save(file);
    ParameterSet again({.dtype = DType::float64, .seed = 9});
    const SoftmaxHead copy(again, "head", config, 7, 3, Init::normal(1));
    again.load(file);
    const NoGrad guard(tape);
    tape.reset();
    const Doubles a = head.log_probabilities(tape.constant(batch(1))).to_vector();
    CHECK(copy.log_probabilities(tape.constant(batch(1))).to_vector() == a);
    std::filesystem::remove(file);
  }
}

TEST_CASE("margins: several threads evaluate a head whose norms nobody has made yet") {
  const Tensor h = tensor_of(random_values({{{4, 3}}}, 5)[0], {4, 3}, DType::float64);
  for (int round = 0; round < 30; ++round) {
    ParameterSet set({.dtype = DType::float64, .seed = 3, .gradients = false});
    const SoftmaxHead head(set, "head", {.norms = {.word = word_norm_from_text("log-rank")}}, 7, 3,
                           Init::normal(1));
    head.set_counts(std::vector<int64_t>{9, 3, 4, 1, 1, 0, 2});
    REQUIRE(set.values());  // makes the parameters' memory
    std::vector<Doubles> log_p(4);
    std::vector<std::thread> threads;
    for (Doubles& own : log_p)
      threads.emplace_back([&] {
        Arena pool("head");
        Tape tape(pool);
        const NoGrad guard(tape);
        own = head.log_probabilities(tape.constant(h)).to_vector();
      });
    for (std::thread& thread : threads) thread.join();
    for (const Doubles& other : log_p) CHECK(other == log_p.front());
  }
}

TEST_CASE("margins: a decoder gives evaluation's probabilities") {
  for (const char* name : {"lin", "mix:3*lin"})
    for (const char* word : {"none", "uniform", "unigram:3,0.5"})
      for (const char* context : {"none", "const:3", "max"}) {
        const MarginProblem p{.head = name, .word = word, .context = context};
        CAPTURE(name);
        CAPTURE(word);
        CAPTURE(context);
        const HeadSpec spec = p.spec();
        Arena pool("decoder");
        Tape tape(pool);
        std::vector<Var> x;
        for (const Tensor& t : p.inputs()) x.push_back(tape.constant(t));
        HeadWeights weights = p.weights(x);
        if (weights.norms.context.of_batch())
          weights.norms.running =
              Tensor::from(Doubles(static_cast<size_t>(spec.size()), 2.5), {spec.size()});
        const Doubles expected = log_probabilities(spec, x[0], weights).to_vector();
        HeadValues values{.bias = weights.bias.value(), .norms = weights.norms};
        values.w.push_back(weights.w[0].value());
        if (spec.mixture) values.prior = weights.prior.value();
        if (spec.contexts) values.latent = weights.latent.value();
        const HeadDecoder<double> decoder(spec, values);
        HeadDecoder<double>::Memory memory;
        HeadDecoder<double>::Answer answer;
        Doubles h = p.inputs()[0].to_vector();
        h.resize(h.size() + static_cast<size_t>(8 * p.size));
        std::vector<int32_t> targets;
        for (int64_t r = 0; r < p.rows; ++r)
          targets.push_back(static_cast<int32_t>(r * 5 % p.words));
        decoder({.h = h.data(), .rows = p.rows, .targets = targets}, memory, answer);
        Doubles own;
        for (size_t r = 0; r < targets.size(); ++r)
          own.push_back(
              expected[r * static_cast<size_t>(p.words) + static_cast<size_t>(targets[r])]);
        CHECK(relative_error(answer.log_probs, own) < 1e-12);
        decoder({.h = h.data(), .rows = p.rows, .k = 3}, memory, answer);
        const WordScores best = top_words(spec, x[0], weights, 3);
        CHECK(answer.words == best.words);
        CHECK(relative_error(answer.log_probs, best.log_probs) < 1e-12);
      }
}

}  // namespace nine::tests::test_margins
