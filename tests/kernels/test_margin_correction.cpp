// What a cosine margin makes of the probabilities that are learned, and how that is undone: the
// closed form against training on a known distribution, and lm_score --margin-correction.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <numeric>

#include "apps/inspect/explain.h"
#include "apps/inspect/plot.h"
#include "core/ops.h"
#include "kernels/options/margin_correction.h"
#include "nn/models/language_model.h"
#include "nn/softmax_head.h"
#include "tests/support/compare.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_margin_correction {
namespace {

using Doubles = std::vector<double>;
using Strings = std::vector<std::string>;

Doubles undone(const Doubles& p, const Doubles& sizes) {
  Doubles log_p;
  for (const double x : p) log_p.push_back(std::log(x));
  undo_cos_margin(log_p, sizes);
  for (double& x : log_p) x = std::exp(x);
  return log_p;
}

Outcome lm_train(const TemporaryDirectory& dir, const std::string& name, const Strings& more) {
  Strings arguments{"--sample", "--sample-sentences",
                    "300",      "--layers",
                    "1",        "--hidden",
                    "8",        "--embed",
                    "8",        "--batch",
                    "6",        "--bptt",
                    "9",        "--after",
                    "20u",      "--dtype",
                    "float64",  "--run",
                    dir / name};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program("lm_train", arguments);
}

Outcome corrected(const TemporaryDirectory& dir, const std::string& name) {
  return run_program("lm_score", {"--checkpoint", dir / name, "--margin-correction", "--tokens"},
                     "the cat\n\na dog saw the cat\n");
}

}  // namespace

TEST_CASE("margin correction: it inverts the optimum, whatever the margins") {
  for (const Doubles& q : {Doubles{0.45, 0.25, 0.15, 0.1, 0.05}, Doubles{0.9, 0.06, 0.04},
                           Doubles{0.999, 0.001}, Doubles{1}})
    for (const double size : {0.0, 0.1, 1.0, 3.0, 8.0, 15.0}) {
      Doubles sizes;
      for (size_t v = 0; v < q.size(); ++v)
        sizes.push_back(size / (1 + 0.3 * static_cast<double>(v)));
      const Doubles p = cos_margin_optimum(q, sizes);
      CAPTURE(size);
      CHECK(std::abs(std::accumulate(p.begin(), p.end(), -1.0)) < 1e-9);
      for (const double x : p) CHECK(x >= 0);
      CHECK(relative_error(undone(p, sizes), q) < 1e-6);
      if (size == 0) CHECK(relative_error(p, q) < 1e-12);
    }
  // p of the first word is 1 to the last digit: q is in proportion to e^-M + p_2 and p_2.
  for (const double size : {20.0, 45.0, 300.0, 2000.0}) {
    Doubles log_p{0, -size, -size - 1};
    undo_cos_margin(log_p, Doubles(3, size));
    const double e = std::exp(-1.0), all = 2 + e + 1 + e;
    CHECK(std::exp(log_p[0]) == doctest::Approx((2 + e) / all));
    CHECK(std::exp(log_p[1]) == doctest::Approx(1 / all));
    CHECK(std::exp(log_p[2]) == doctest::Approx(e / all));
  }
  CHECK(has(error_of([] { cos_margin_optimum(Doubles{1}, Doubles{}); }), "0 margins for 1 words"));
}

TEST_CASE("margin correction: a head trained on a known distribution") {
  const std::vector<int32_t> counts{45, 25, 15, 10, 5};
  const int64_t words = 5;
  Doubles q;
  for (const int32_t c : counts) q.push_back(c / 100.0);
  for (const double m : {0.2, 1.0}) {
    ParameterSet set({.dtype = DType::float64, .seed = 3});
    const HeadConfig config{.bias = true,
                            .loss = {.margin = {Margin::Kind::cos, m}},
                            .norms = {.word = word_norm_from_text("unigram:2,1"),
                                      .context = context_norm_from_text("const:1.5")}};
    const SoftmaxHead head(set, "head", config, words, 3, Init::normal(1));
    head.set_counts(std::vector<int64_t>(counts.begin(), counts.end()));
    Tensor targets({100}, DType::int32), h({100, 3}, DType::float64);
    for (int32_t v = 0, r = 0; v < words; ++v)
      for (int32_t i = 0; i < counts[static_cast<size_t>(v)]; ++i) targets.data<int32_t>()[r++] = v;
    for (int64_t r = 0; r < 100; ++r) h.data<double>()[3 * r] = 1;  // no context
    Arena pool("correction");
    Tape tape(pool);
    // Plain gradient descent of word vectors and bias.
    for (int step = 0; step < 6000; ++step) {
      tape.reset();
      set.zero_grad();
      tape.backward(head.loss(tape.constant(h), targets));
      ops::scale(-0.5, set.gradients(), {set.values(), true});
    }
    tape.reset();
    const NoGrad guard(tape);
    const Var one = tape.constant(h.row_range(0, 1));
    Doubles p = head.log_probabilities(one).to_vector(),
            back = head.log_probabilities_undoing(one, m).to_vector(), sizes;
    for (double& x : p) x = std::exp(x);
    for (double& x : back) x = std::exp(x);
    for (const double share : q) sizes.push_back(m * 1.5 * (2 * share + 1));
    CAPTURE(m);
    CHECK(relative_error(p, cos_margin_optimum(q, sizes)) < 1e-4);
    CHECK(relative_error(p, q) > 0.02);  // the margin did something
    CHECK(relative_error(back, q) < 1e-4);
  }
}

TEST_CASE("margin correction: lm_score undoes the margin that a checkpoint names") {
  const TemporaryDirectory dir;
  const Strings norms{"--word-norm", "const:1.5", "--context-norm", "const:3"};
  Strings exact = norms;
  exact.insert(exact.end(), {"--margin", "cos:0.4"});
  REQUIRE(lm_train(dir, "exact", exact).code == 0);
  const Outcome scored = corrected(dir, "exact");
  REQUIRE_MESSAGE(scored.code == 0, scored.err);
  CHECK(!has(scored.err, "warning"));
  // Against the formula applied to all words' log p.
  const LanguageModel model = LanguageModel::load(dir / "exact");
  const Strings lines{"the cat", "", "a dog saw the cat"};
  const auto expected = model.top_words(lines, 100000);
  const auto words = static_cast<size_t>(model.vocabulary().size());
  std::istringstream numbers(scored.out);
  const auto log_p = model.score(lines, {.undo_margin = 0.4});
  for (size_t i = 0; i < lines.size(); ++i)
    for (size_t t = 0; t < expected[i].size(); ++t) {
      const WordExpectation& e = expected[i][t];
      Doubles all(words);
      double printed = 0;
      numbers >> printed;
      for (size_t k = 0; k < words; ++k) all[static_cast<size_t>(e.top[k])] = e.top_log_p[k];
      undo_cos_margin(all, Doubles(words, 0.4 * 1.5 * 3));
      CHECK(std::abs(printed - log_p[i][t]) < 1e-12);
      CHECK(std::abs(printed - all[static_cast<size_t>(e.top[static_cast<size_t>(e.rank - 1)])]) <
            1e-10);
    }

  // Ten sentences of one length are the ten columns of a carried state: each then starts afresh.
  std::string text;
  for (const char* line : {"the cat", "a dog", "the dog", "a cat", "saw the"})
    text += concat(line, "\n", line, "\n");
  Strings scoring{"--checkpoint", dir / "exact", "--margin-correction", "--tokens"};
  std::istringstream afresh(run_program("lm_score", scoring, text).out);
  scoring.push_back("--carry-state");
  std::istringstream carried(run_program("lm_score", scoring, text).out);
  for (int i = 0; i < 30; ++i) {
    double a = 0, b = 1;
    REQUIRE(static_cast<bool>(afresh >> a));
    REQUIRE(static_cast<bool>(carried >> b));
    CHECK(std::abs(a - b) < 1e-6);
  }

  REQUIRE(lm_train(dir, "learned", {"--margin", "cos:0.4"}).code == 0);
  const Outcome warned = corrected(dir, "learned");
  CHECK(warned.code == 0);
  CHECK(has(warned.err,
            "warning: the correction is exact only if the norms F and G are not learned"));

  const auto refused = [&](const std::string& name, const Strings& options) {
    REQUIRE(lm_train(dir, name, options).code == 0);
    const Outcome r = corrected(dir, name);
    CHECK(r.code != 0);
    return r.err;
  };
  CHECK(has(refused("none", {}), "trained with the margin none"));
  CHECK(has(refused("arc", {"--margin", "arc:0.1"}), "trained with the margin arc:0.1"));
  CHECK(has(refused("mixture", {"--margin", "cos:0.1", "--head", "mix:2*lin"}), "mixture"));
  CHECK(has(refused("smoothed", {"--margin", "cos:0.1", "--label-smoothing", "0.1"}), "smoothing"));
  CHECK(has(refused("bias", {"--margin", "cos:0.1", "--no-head-bias"}), "bias"));
  for (const Strings& other : {Strings{"--generate"}, Strings{"--top", "3"}}) {
    Strings arguments{"--checkpoint", dir / "exact", "--margin-correction"};
    arguments.insert(arguments.end(), other.begin(), other.end());
    const Outcome r = run_program("lm_score", arguments, "the cat\n");
    CHECK(r.code == 2);
    CHECK(has(r.err, "--margin-correction"));
  }
}

TEST_CASE("margins: kernel_inspect explains and draws them") {
  for (const char* name :
       {"margin=cos:0.3", "margin=arc:0.5", "margin=lsm:3", "word_norm=const:2",
        "word_norm=uniform", "word_norm=log-rank:through", "word_norm=log-rank:ratio",
        "word_norm=unigram:2,0.5", "word_norm=log-unigram", "word_norm=log-unigram:scaled",
        "context_norm=const:3", "context_norm=max", "context_norm=max:ema:through",
        "margin=lsm:2,word_norm=unigram:1,1,context_norm=max"}) {
    CAPTURE(name);
    // The example's own check throws where a gradient disagrees.
    CHECK(app::explain(name).at("psi").size() == 2);
  }
  CHECK(has(error_of([] { app::explain("margin=cos"); }), "not a number"));
  CHECK(has(error_of([] { app::explain("word_norm=const:0"); }), "above 0"));
  const std::string svg = app::plot_svg({.kernels = "none,cos:0.35,arc:0.5,lsm:3"});
  for (const char* part : {"cos:0.35", "arc:0.5", "lsm:3", "theta", "psi"}) CHECK(has(svg, part));
  CHECK(has(error_of([] { app::plot_svg({.kernels = "cos:0.3,lin"}); }), "no margin is called"));
}

}  // namespace nine::tests::test_margin_correction
