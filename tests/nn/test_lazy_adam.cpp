// Lazy Adam (nn/training/optimizer.cpp): updates against plain loops in double, gradients
// that are kept by rows, and --lazy-adam in both trainers.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "autograd/functions.h"
#include "core/ops.h"
#include "nn/softmax_head.h"
#include "nn/training/optimizer.h"
#include "tests/support/compare.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

#include "checks/values.h"

namespace nine::tests::test_lazy_adam {
namespace {

using namespace nine::checks;
using Strings = std::vector<std::string>;

constexpr int64_t kWords = 60, kRows = 21, kSize = 4;

Doubles counts() {
  Doubles c;
  for (int64_t v = 0; v < kWords; ++v) c.push_back(static_cast<double>((7 * v + 3) % 23));
  return c;
}

// A table of words whose vectors predict words, with a sampled softmax.
struct Model {
  ParameterSet set{{.dtype = DType::float64, .seed = 4}};
  Parameter& table = set.add("table", {kWords, kSize}, Init::normal(0.7));
  HeadConfig config;
  SoftmaxHead head;
  Arena pool{"lazy"};
  Tape tape{pool};

  Model(const HeadConfig& c, bool tied)
      : config(c), head(set, "head", c, kWords, kSize, Init::normal(0.7), tied ? &table : nullptr) {
    table.touched.emplace();
    std::vector<int64_t> whole;
    for (const double x : counts()) whole.push_back(static_cast<int64_t>(x));
    head.set_counts(whole);
  }
  static RandomKey key(int64_t step) { return {.seed = 9, .step = static_cast<uint32_t>(step)}; }
  static Tensor ids(int64_t step, int32_t low) {
    return tensor_of(random_indices({{{kRows}, low, kWords}}, static_cast<uint64_t>(7 * step))[0],
                     {kRows});
  }
  void gradients(int64_t step, bool penalty = false) {
    tape.reset();
    set.zero_grad();
    tape.set_random_key(key(step));
    const Var x = embedding(tape.parameter(table), ids(step, 0));
    Var loss = head.loss(x, ids(step, -1), 0.1).loss;
    if (penalty) loss = add(loss, head.norm_regulariser(tape, 1));
    tape.backward(loss);
    set.zero_missing_grads();
  }
};

HeadConfig sampled(const char* head, bool untied) {
  return {.spec = parse_head(head, {.untied = untied}),
          .bias = true,
          .sampled = sampled_softmax_from_text("9")};
}

// Whether each element of the slab belongs to a row that step `step` reaches: words that are drawn,
// targets, and in the table the inputs.
std::vector<bool> reached(const Model& model, int64_t step) {
  const WordSampler sampler(model.config.sampled, counts());
  RandomKey key = Model::key(step);
  key.op = stream_id("head.sample");
  const Tensor targets = Model::ids(step, -1), inputs = Model::ids(step, 0);
  const SampledWords drawn =
      sampler.sample(key, {targets.data<int32_t>(), static_cast<size_t>(targets.elements())});
  const std::set<int64_t> output(drawn.words.begin(), drawn.words.end()),
      input(inputs.data<int32_t>(), inputs.data<int32_t>() + inputs.elements());
  const auto* slab = static_cast<const double*>(model.set.values().view().data);
  std::vector<bool> out(static_cast<size_t>(model.set.values().elements()));
  for (const Parameter& p : model.set.all()) {
    const int64_t first = p.value().data<double>() - slab, n = p.value().elements();
    for (int64_t i = 0; i < n; ++i) {
      const int64_t word = (p.name == "head.bias" ? i : i / kSize) % kWords;
      bool hit = true;  // a mixture's other weights
      if (p.name == "table") hit = input.contains(word);
      if (p.name == "head.weight" || p.name == "head.bias") hit = output.contains(word);
      out[static_cast<size_t>(first + i)] = hit;
    }
  }
  return out;
}

Outcome train(const TemporaryDirectory& dir, const std::string& run, const std::string& updates,
              const Strings& more) {
  Strings arguments = tiny_lm_flags(dir / run, updates);
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program("lm_train", arguments);
}

const Strings kLazy{"--sampled-softmax", "50", "--lazy-adam"};
Strings lazy_and(const Strings& more) {
  Strings all = kLazy;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

TEST_CASE("lazy adam: updates are those of plain loops over the rows that were reached") {
  struct Case {
    const char* head;
    bool untied, tied;
    double clip;
  };
  for (const Case& c : {Case{"lin", false, false, 0}, Case{"lin", false, true, 0.05},
                        Case{"mix:2*lin", true, false, 0.05}, Case{"mix:2*lin", true, true, 0}}) {
    CAPTURE(c.head);
    CAPTURE(c.tied);
    Model model(sampled(c.head, c.untied), c.tied);
    const auto optimizer = make_optimizer(model.set, {.lazy = true});
    Doubles w = model.set.values().to_vector(), m(w.size()), v(w.size());
    size_t kept = 0;
    for (int64_t t = 1; t <= 6; ++t) {
      model.gradients(t);
      const Doubles g = model.set.gradients().to_vector();
      std::vector<bool> hit = reached(model, t);
      if (c.tied) {  // the table is the output's too
        Model untied(sampled(c.head, c.untied), false);
        const std::vector<bool> other = reached(untied, t);
        const auto* slab = untied.set.values().data<double>();
        const int64_t from = untied.set.at("head.weight").value().data<double>() - slab;
        for (int64_t i = 0; i < kWords * kSize; ++i)
          if (other[static_cast<size_t>(from + i)]) hit[static_cast<size_t>(i)] = true;
      }
      double square = 0;
      for (size_t i = 0; i < g.size(); ++i) {
        square += g[i] * g[i];
        if (!hit[i]) CHECK(g[i] == 0);
      }
      const Tensor norm({}, DType::float64);
      model.tape.reset();
      model.set.sum_squares(norm, model.pool);
      CHECK(std::abs(norm.item() - square) < 1e-14 * square);
      const double factor = c.clip > 0 ? std::min(1.0, c.clip / (std::sqrt(square) + 1e-6)) : 1;
      for (size_t i = 0; i < w.size(); ++i) {
        if (!hit[i]) {
          ++kept;
          continue;
        }
        m[i] = 0.9 * m[i] + 0.1 * factor * g[i];
        v[i] = 0.999 * v[i] + 0.001 * factor * factor * g[i] * g[i];
        const auto step = static_cast<double>(t);
        w[i] -= 0.01 * (m[i] / (1 - std::pow(0.9, step))) /
                (std::sqrt(v[i] / (1 - std::pow(0.999, step))) + 1e-8);
      }
      optimizer->step(0.01, norm, c.clip);
      CHECK(relative_error(model.set.values().to_vector(), w) < 1e-12);
      model.set.zero_grad();
      for (const Parameter& p : model.set.all())
        if (p.touched)
          for (const double x : p.grad().to_vector()) REQUIRE(x == 0);
    }
    CHECK(kept > w.size());
  }
}

TEST_CASE("lazy adam: where every row has a gradient it is Adam") {
  for (const bool penalty : {false, true}) {
    CAPTURE(penalty);
    HeadConfig config = sampled("lin", false);
    config.norm_reg = norm_regulariser_from_text("squared:0.1,1");
    config.sampled = sampled_softmax_from_text("60");
    Model lazy(config, true), dense(config, true);
    const auto a = make_optimizer(lazy.set, {.lazy = true}), b = make_optimizer(dense.set, {});
    for (int64_t t = 1; t <= 4; ++t) {
      for (Model* model : {&lazy, &dense}) {
        model->gradients(t, penalty);
        const Tensor norm({}, DType::float64);
        model->tape.reset();
        model->set.sum_squares(norm, model->pool);
        (model == &lazy ? a : b)->step(0.01, norm, 0.5);
      }
      CHECK(lazy.set.values().to_vector() == dense.set.values().to_vector());
    }
  }
}

TEST_CASE("lazy adam: a gradient by rows and one of the whole table add up") {
  HeadConfig config = sampled("lin", false), alone = config;
  config.norm_reg = norm_regulariser_from_text("squared:0.1,1");
  Model both(config, true), rows(alone, true);
  both.gradients(3, true);
  rows.gradients(3);
  const Doubles w = rows.table.value().to_vector();
  Doubles expected = rows.table.grad().to_vector();
  for (size_t r = 0; r < w.size(); r += kSize) {
    double square = 0;
    for (size_t k = r; k < r + kSize; ++k) square += w[k] * w[k];
    for (size_t k = r; k < r + kSize; ++k)
      expected[k] += 0.1 * 2 * (std::sqrt(square) - 1) * w[k] / std::sqrt(square);
  }
  CHECK(relative_error(both.table.grad().to_vector(), expected) < 1e-12);
  both.set.zero_grad();
  for (const double x : both.set.gradients().to_vector()) REQUIRE(x == 0);
}

TEST_CASE("lazy adam: other optimisers and weight decay are errors") {
  Model model(sampled("lin", false), false);
  for (const OptimizerConfig& config : {OptimizerConfig{.kind = OptimizerKind::sgd, .lazy = true},
                                        OptimizerConfig{.kind = OptimizerKind::adamw, .lazy = true},
                                        OptimizerConfig{.lazy = true, .weight_decay = 0.1}})
    CHECK(has(error_of([&] { make_optimizer(model.set, config); }), "without weight decay"));
}

TEST_CASE("lazy adam: runs go on to the same bits, at any number of threads") {
  const TemporaryDirectory dir;
  for (const Strings& more : {Strings{}, Strings{"--tie-embeddings", "--accumulate", "2"},
                              Strings{"--word-norm", "uniform:through", "--context-norm", "max",
                                      "--margin", "cos:0.1"}}) {
    const std::string name = more.empty() ? "plain" : more[0];
    const Outcome once = train(dir, name + "1", "20u", lazy_and(more));
    REQUIRE_MESSAGE(once.code == 0, once.err);
    REQUIRE(train(dir, name + "2", "10u", lazy_and(more)).code == 0);
    REQUIRE(train(dir, name + "2", "20u", lazy_and(more)).code == 0);
    CHECK(weights_of(dir / (name + "1")) == weights_of(dir / (name + "2")));
    Strings threads = lazy_and(more);
    threads.insert(threads.end(), {"--threads", "3"});
    REQUIRE(train(dir, name + "3", "20u", threads).code == 0);
    CHECK(weights_of(dir / (name + "1")) == weights_of(dir / (name + "3")));
    Strings dense{"--sampled-softmax", "50"};
    dense.insert(dense.end(), more.begin(), more.end());
    REQUIRE(train(dir, name + "4", "20u", dense).code == 0);
    CHECK(weights_of(dir / (name + "1")) != weights_of(dir / (name + "4")));
  }
}

TEST_CASE("lazy adam: translation") {
  const TemporaryDirectory dir;
  const auto run = [&](const std::string& updates, const std::string& to, const Strings& more) {
    Strings flags{"--sample", "--sample-pairs",
                  "200",      "--hidden",
                  "16",       "--ffn",
                  "16",       "--heads",
                  "2",        "--encoder-layers",
                  "1",        "--decoder-layers",
                  "1",        "--after",
                  updates,    "--batch-tokens",
                  "200",      "--valid-beam",
                  "0",        "--label-smoothing",
                  "0",        "--sampled-softmax",
                  "20",       "--lazy-adam",
                  "--run",    dir / to};
    flags.insert(flags.end(), more.begin(), more.end());
    return run_program("mt_train", flags);
  };
  for (const char* shared : {"--shared-vocab", "--no-tie-embeddings"}) {
    const std::string name = shared;
    const Outcome once = run("8u", name + "1", {shared});
    REQUIRE_MESSAGE(once.code == 0, once.err);
    REQUIRE(run("4u", name + "2", {shared}).code == 0);
    REQUIRE(run("8u", name + "2", {shared, "--threads", "3"}).code == 0);
    CHECK(weights_of(dir / (name + "1")) == weights_of(dir / (name + "2")));
  }
}

TEST_CASE("lazy adam: what does not fit together says what would do") {
  const TemporaryDirectory dir;
  const auto refused = [&](const Strings& options) {
    const Outcome r = train(dir, "no", "5u", options);
    CHECK(r.code == 2);
    return r.err;
  };
  CHECK(has(refused({"--lazy-adam"}), "give --sampled-softmax K"));
  CHECK(has(refused(lazy_and({"--optimizer", "adamw"})), "not with adamw"));
  CHECK(has(refused(lazy_and({"--weight-decay", "0.1"})), "set --weight-decay 0"));
  CHECK(has(refused(lazy_and({"--weight-norm-reg", "squared:0.1,1"})), "--weight-norm-reg"));
  CHECK(has(refused({"--sampled-softmax", "50", "--export-parity", dir / "p", "--dropout", "0"}),
            "leave out --sampled-softmax"));
}

}  // namespace nine::tests::test_lazy_adam
