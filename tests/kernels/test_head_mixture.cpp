// The generalised kernel softmax (docs/heads.md, section 4): every kernel and mixtures, tied and
// untied, against dense formulas in long double, a twin of plain autograd operations, finite
// differences, and one way of computing against another.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "autograd/functions.h"
#include "core/error.h"
#include "core/threads.h"
#include "kernels/ops.h"
#include "tests/kernels/head_problem.h"
#include "tests/kernels/score_oracle.h"
#include "tests/support/compare.h"
#include "tests/support/support.h"

namespace nine::tests::test_head_mixture {

using namespace nine::checks;

namespace {

Score score_of(ScoreKind kind, std::array<double, kMaxScoreParameters> parameters = {}) {
  return {kind, parameters};
}
const Score kLin = score_of(ScoreKind::lin), kPow = score_of(ScoreKind::pow, {2}),
            kRbf = score_of(ScoreKind::rbf, {0.5}), kMog = score_of(ScoreKind::mog, {2, 1, 0, 1});

// The same loss from plain autograd operations, for components that they can write: lin, pow with p
// = 2, rbf.
Var composed(const HeadProblem& p, std::span<const Var> x) {
  Tape& tape = x[0].tape();
  const auto ones = [&](int64_t rows, int64_t cols) {
    return tape.constant(
        tensor_of(Doubles(static_cast<size_t>(rows * cols), 1.0), {rows, cols}, x[0].dtype()));
  };
  const HeadWeights weights = p.weights(x);
  const Var log_prior =
      p.head.mixture ? log_softmax(matmul(x[0], weights.prior, false, true)) : Var();
  Var posterior;
  for (int64_t k = 0; k < p.head.size(); ++k) {
    const Var h =
        p.head.contexts
            ? tanh(matmul(x[0], row_range(weights.latent, k * p.size, p.size), false, true))
            : x[0];
    const Var w = row_range(x[1], p.head.untied ? k * p.words : 0, p.words);
    const Score& score = p.head.components[static_cast<size_t>(k)];
    Var s = matmul(h, w, false, true);
    if (score.kind != ScoreKind::lin) {
      const Var norms = add(matmul(square(h), ones(p.words, p.size), false, true),
                            matmul(ones(p.rows, p.size), square(w), false, true));
      const Var q = sub(norms, scale(s, 2));
      s = score.kind == ScoreKind::pow ? neg(q) : exp(scale(q, -score.parameters[0]));
    }
    Var part = log_softmax(add(s, x[2]));
    if (log_prior) part = add(part, matmul(col_range(log_prior, k, 1), ones(1, p.words)));
    posterior = posterior ? add(posterior, exp(part)) : exp(part);
  }
  Doubles t(static_cast<size_t>(p.rows * p.words));
  const double spread = p.options.smoothing.spread(p.words);
  for (size_t n = 0; n < p.targets.size(); ++n)
    for (int64_t v = 0; p.targets[n] >= 0 && v < p.words; ++v)
      t[n * static_cast<size_t>(p.words) + static_cast<size_t>(v)] =
          v == p.targets[n] ? 1 - spread * static_cast<double>(p.words - 1) : spread;
  return scale(
      sum(mul(log(posterior), tape.constant(tensor_of(t, {p.rows, p.words}, x[0].dtype())))),
      -p.row_weight);
}

void check_against_twin(const HeadProblem& p) {
  Arena pool("twin");
  Tape tape(pool);
  std::vector<Var> x;
  for (const Tensor& t : p.inputs(DType::float64)) x.push_back(tape.leaf(t));
  tape.backward(composed(p, x));
  const HeadResult fused = run(p);
  for (size_t i = 0; i < x.size(); ++i) {
    CAPTURE(i);
    const Doubles expected = x[i].grad().to_vector();
    if (std::all_of(expected.begin(), expected.end(), [](double g) { return std::abs(g) < 1e-14; }))
      continue;  // a prior over equals
    CHECK(relative_error(fused.gradients[i], expected) < 1e-12);
  }
}

}  // namespace

TEST_CASE(
    "head: every kernel against its dense formula and finite differences; blocks = tiles; "
    "float32") {
  const Restore restore;
  set_threads(1);
  for (const ScoreCase& c : score_cases()) {
    CAPTURE(c.name);
    HeadProblem p = head_problem(single(c.score), 35, 70, c.dims);
    check_against_dense(p, 1e-11);
    check_gradients(p);
    const HeadResult blocks = run(p);
    CHECK(relative_error(run(p, DType::float32).gradients[0], blocks.gradients[0]) < 1e-4);
    p.options.memory = HeadMemory::tiles;
    CHECK(same_bits(run(p), blocks));
  }
}

TEST_CASE(
    "head: mixtures against the dense formula, finite differences and a twin of plain operations") {
  const Restore restore;
  set_threads(1);
  for (const bool untied : {false, true})
    for (const bool contexts : {true, false})
      for (const std::vector<Score>& components :
           {std::vector<Score>{kLin}, {kLin, kLin, kLin}, {kLin, kPow, kRbf}, {kRbf, kLin}})
        for (const double epsilon : {0.0, 0.2}) {
          CAPTURE(untied);
          CAPTURE(contexts);
          CAPTURE(components.size());
          CAPTURE(epsilon);
          HeadProblem p = head_problem(mixture(components, untied, contexts), 70, 67, 6);
          p.options.smoothing = {
              epsilon, contexts ? LabelSmoothing::Kind::uniform : LabelSmoothing::Kind::others};
          check_against_dense(p);
          check_against_twin(p);
          check_gradients(p, 12);
          const HeadResult blocks = run(p);
          p.options.memory = HeadMemory::tiles;
          CHECK(same_bits(run(p), blocks));
        }
}

TEST_CASE("head: a mixture of all kernels, with parts, over several blocks") {
  const Restore restore;
  set_threads(1);
  std::vector<Score> all;
  for (const ScoreCase& c : score_cases())
    if (c.dims % 4 == 0 || c.score.kind != ScoreKind::mog) all.push_back(c.score);
  for (const bool untied : {false, true}) {
    HeadProblem p = head_problem(mixture(all, untied), 40, 66, 8, 0.5);
    check_against_dense(p, 1e-11);
    check_gradients(p, 3);
    p.options.smoothing.epsilon = 0.1;
    check_against_dense(p, 1e-11);
    check_gradients(p, 3);
  }
}

TEST_CASE("head: wide vectors, parts of which begin and end within a panel of columns" *
          doctest::test_suite("check")) {
  const Restore restore;
  set_threads(1);
  const Score lin{ScoreKind::lin, {}}, ssg{ScoreKind::ssg, {0, 1}}, rbf{ScoreKind::rbf, {0.1}},
      two{ScoreKind::mog, {2, 0, 0, 1}}, three{ScoreKind::mog, {3, 0, 2, 1}};
  for (const HeadSpec& head :
       {single(two), mixture({lin, two, ssg}), mixture({rbf, three, lin}, true)})
    for (const int64_t size : {42, 102}) {
      CAPTURE(head.to_text());
      CAPTURE(size);
      HeadProblem p = head_problem(head, 70, 130, size, 0.5);
      check_against_dense(p, 1e-11);
      check_gradients(p, 3);
      const HeadResult blocks = run(p), small = run(p, DType::float32);
      for (size_t i = 0; i < blocks.gradients.size(); ++i)
        CHECK(relative_error(small.gradients[i], blocks.gradients[i]) < 1e-4);
      p.options.memory = HeadMemory::tiles;
      CHECK(same_bits(run(p), blocks));
    }
}

TEST_CASE("head: blocks of a given size") {
  for (const char* head : {"lin", "mix:lin,rbf"}) {
    CAPTURE(head);
    HeadProblem p = head_problem(parse_head(head), 300, 130, 40);
    const HeadResult usual = run(p);
    p.options.block_rows = 64;
    const HeadResult given = run(p);
    CHECK(!same_bits(given, usual));
    REQUIRE(given.gradients.size() == usual.gradients.size());
    for (size_t i = 0; i < usual.gradients.size(); ++i)
      CHECK(relative_error(given.gradients[i], usual.gradients[i]) < 1e-12);
    for (const int64_t wrong : {-32, 40}) {
      p.options.block_rows = wrong;
      CHECK_THROWS_WITH_AS(run(p), doctest::Contains("a multiple of 32 contexts"), Error);
    }
  }
}

TEST_CASE("head: penalties on the prior, both readings") {
  const Restore restore;
  set_threads(1);
  for (const auto kind : {ops::PriorPenalty::variance, ops::PriorPenalty::cv2}) {
    HeadProblem p = head_problem(mixture({kLin, kRbf, kLin}), 40, 30, 5);
    p.options.prior = {kind, 0.7};
    check_against_dense(p);
    check_gradients(p);
    p.targets.assign(40, -1);
    CHECK(run(p).loss == 0);
  }
  CHECK(to_text(prior_regulariser_from_text("cv2:0.01")) == "cv2:0.01");
  CHECK(to_text(prior_regulariser_from_text("")).empty());
  CHECK_THROWS_WITH_AS(prior_regulariser_from_text("var:1"),
                       doctest::Contains("variance:RHO or cv2:RHO"), UsageError);
  CHECK_THROWS_WITH_AS(prior_regulariser_from_text("variance:-1"), doctest::Contains("'-1'"),
                       UsageError);
  CHECK(to_text(norm_regulariser_from_text("root:0.5,2")) == "root:0.5,2");
  CHECK_THROWS_WITH_AS(norm_regulariser_from_text("squared:1"), doctest::Contains("squared:RHO,NU"),
                       UsageError);
}

TEST_CASE("head: equal components with equal contexts are the single kernel on that context") {
  for (const Score& score : {kLin, kRbf, kMog}) {
    HeadProblem one = head_problem({.components = {score}, .contexts = true}, 40, 66, 8);
    HeadProblem three = one;
    three.head = mixture({score, score, score});
    three.latent.clear();
    for (int k = 0; k < 3; ++k)
      three.latent.insert(three.latent.end(), one.latent.begin(), one.latent.begin() + 64);
    one.latent.resize(64);
    three.prior = random_values({{{3, 8}}}, 5)[0];
    const HeadResult a = run(one), b = run(three);
    CHECK(relative_error(b.nll, a.nll) < 1e-12);
    for (size_t i = 0; i < 3; ++i) CHECK(relative_error(b.gradients[i], a.gradients[i]) < 1e-11);
    Doubles sum(64);
    for (size_t i = 0; i < 192; ++i) sum[i % 64] += b.gradients[4][i];
    CHECK(relative_error(sum, a.gradients[3]) < 1e-11);
  }
}

TEST_CASE("head: mixtures give the same bits with 1, 2 and 3 threads; float32 is float64 to 1e-5") {
  const Restore restore;
  for (const bool untied : {false, true}) {
    HeadProblem p = head_problem(mixture({kLin, kPow, kMog, kRbf}, untied), 100, 1500, 16, 0.5);
    for (const double epsilon : {0.0, 0.1}) {
      p.options.smoothing.epsilon = epsilon;
      set_threads(1);
      const HeadResult one = run(p, DType::float32), exact = run(p);
      for (const int n : {2, 3}) {
        set_threads(n);
        CHECK(same_bits(run(p, DType::float32), one));
      }
      CHECK(relative_error(one.nll, exact.nll) < 1e-5);
      for (size_t i = 0; i < exact.gradients.size(); ++i)
        CHECK(relative_error(one.gradients[i], exact.gradients[i]) < 1e-4);
    }
  }
}

TEST_CASE("head: readouts agree with the loss") {
  for (const bool untied : {false, true}) {
    const HeadProblem p = head_problem(mixture({kLin, kRbf, kMog}, untied), 35, 70, 8);
    Arena pool("head");
    Tape tape(pool);
    const NoGrad guard(tape);
    std::vector<Var> x;
    for (const Tensor& t : p.inputs(DType::float64)) x.push_back(tape.leaf(t));
    const SoftmaxLoss out = p.run(x);
    const HeadWeights weights = p.weights(x);
    const Doubles log_p = log_probabilities(p.head, x[0], weights).to_vector(),
                  nll = out.nll.value().to_vector();
    const Doubles pi = prior_probabilities(p.head, x[0], weights).to_vector(),
                  share = out.share.value().to_vector();
    const Doubles scores =
        component_scores(p.head, x[0], weights, tensor_of(p.targets, {35})).to_vector();
    const WordScores top = top_words(p.head, x[0], weights, 5);
    for (size_t n = 0; n < 35; ++n) {
      double sum = 0, best = -INFINITY;
      for (size_t v = 0; v < 70; ++v) {
        sum += std::exp(log_p[n * 70 + v]);
        best = std::max(best, log_p[n * 70 + v]);
      }
      CHECK(std::abs(sum - 1) < 1e-12);
      CHECK(top.log_probs[n * 5] == best);
      CHECK(top.log_probs[n * 5 + 4] <= top.log_probs[n * 5 + 3]);
      if (p.targets[n] < 0) continue;
      const auto y = static_cast<size_t>(p.targets[n]);
      CHECK(-log_p[n * 70 + y] == doctest::Approx(nll[n]).epsilon(1e-12));
      // gamma_k(y) = pi_k p_k(y) / p(y) from what was read out.
      for (size_t k = 0; k < 3; ++k) {
        double normaliser = 0;
        for (size_t v = 0; v < 70; ++v) normaliser += std::exp(scores[(k * 35 + n) * 70 + v]);
        const double gamma =
            pi[n * 3 + k] * std::exp(scores[(k * 35 + n) * 70 + y]) / normaliser * std::exp(nll[n]);
        CHECK(share[k * 35 + n] == doctest::Approx(gamma).epsilon(1e-11));
      }
    }
  }
}

TEST_CASE("head: weights that do not fit a head are errors that say what is needed") {
  Arena pool("head");
  Tape tape(pool);
  const auto zeros = [&](const Shape& s) { return tape.leaf(Tensor(s, DType::float32)); };
  const Tensor targets({3}, DType::int32);
  const HeadSpec two = mixture({kLin, kLin});
  CHECK_THROWS_WITH_AS(kernel_softmax(two, zeros({3, 4}), {{zeros({7, 4})}}, targets, 1),
                       doctest::Contains("prior.weight of shape (2, 4)"), Error);
  CHECK_THROWS_WITH_AS(
      kernel_softmax(two, zeros({3, 4}), {{zeros({7, 4})}, {}, zeros({2, 4}), zeros({4, 4})},
                     targets, 1),
      doctest::Contains("latent.weight of shape (8, 4), got (4, 4)"), Error);
  CHECK_THROWS_WITH_AS(
      kernel_softmax(mixture({kLin, kLin}, true), zeros({3, 4}),
                     {{zeros({7, 4})}, {}, zeros({2, 4}), zeros({8, 4})}, targets, 1),
      doctest::Contains("7 word vectors are not 2 times"), Error);
  CHECK_THROWS_WITH_AS(kernel_softmax(single(kMog), zeros({3, 5}), {{zeros({7, 5})}}, targets, 1),
                       doctest::Contains("mog"), Error);
}

#if !defined(NINE_SANITIZE_ADDRESS) && \
    !defined(NINE_SANITIZE_THREAD)  // minutes of products there, to count bytes
TEST_CASE(
    "head: peak memory of a tied mixture of nine is at most three times that of parameters and "
    "gradients" *
    doctest::test_suite("check")) {
  // Nothing of the pool has both the number of rows and that of words as factors, so its peak at N
  // = 4,096 and V = 32,768 is that of few rows at V, and what rows add at a small vocabulary.
  constexpr int64_t kRows = 4096, kWords = 32768, kSize = 512, kComponents = 9, kFewWords = 96;
  const HeadSpec head = mixture(std::vector<Score>(kComponents, kLin));
  const auto peak = [&](int64_t rows, int64_t words, int64_t size) {
    return run(head_problem(head, rows, words, size, 0.1), DType::float32).peak;
  };
  REQUIRE(head_block_rows(head, kWords, kSize, DType::float32) ==
          head_block_rows(head, kFewWords, kSize, DType::float32));
  // The two ways of growing do not depend on each other.
  constexpr int64_t kSmall = 64;
  CHECK(peak(896, 3 * kFewWords, kSmall) - peak(448, 3 * kFewWords, kSmall) ==
        peak(896, kFewWords, kSmall) - peak(448, kFewWords, kSmall));
  const size_t parameters =
      (kWords * kSize + kWords + kComponents * kSize * (kSize + 1)) * sizeof(float);
  const size_t pool =
      peak(32, kWords, kSize) + (peak(kRows, kFewWords, kSize) - peak(32, kFewWords, kSize));
  CHECK(2 * parameters + pool < 3 * 2 * parameters);
  MESSAGE("parameters and gradients ", (2 * parameters) >> 20, " MiB, the head's pool ", pool >> 20,
          " MiB");
}
#endif

}  // namespace nine::tests::test_head_mixture
