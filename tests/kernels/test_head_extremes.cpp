// The kernel softmax on vectors at the ends of what floats hold: too long, too short, equal, or
// close to each other.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/threads.h"
#include "kernels/ops.h"
#include "tests/kernels/head_problem.h"
#include "tests/kernels/score_oracle.h"
#include "tests/support/compare.h"
#include "tests/support/support.h"

namespace nine::tests::test_head_extremes {

using namespace nine::checks;

namespace {

bool all_finite(const HeadResult& r) {
  bool finite = std::isfinite(r.loss);
  for (const Doubles& g : r.gradients)
    for (const double x : g) finite = finite && std::isfinite(x);
  return finite;
}

}  // namespace

TEST_CASE("head: variances that a sum of floats cannot hold, beside ordinary ones") {
  const Restore restore;
  set_threads(1);
  for (const Score& score : {Score{ScoreKind::ssg, {0, 1}}, Score{ScoreKind::mog, {2, 0, 0, 1}},
                             Score{ScoreKind::mog, {2, 1, 0, 1}}}) {
    CAPTURE(static_cast<int>(score.kind));
    HeadProblem p =
        head_problem(single(score), 70, 70,
                     6);   // three panels of rows: the first two are ordinary but for row 40
    p.h[40 * 6 + 5] = 95;  // s = e^95 is no float
    p.w[9 * 6 + 5] = 91;
    check_against_dense(p, 1e-11);
    check_gradients(p, 60);
    const HeadResult exact = run(p), single = run(p, DType::float32);
    CHECK(relative_error(single.nll, exact.nll) < 1e-5);
    for (size_t i = 0; i < 2; ++i)
      CHECK(relative_error(single.gradients[i], exact.gradients[i]) < 1e-4);
  }
}

TEST_CASE("head: vectors whose products overflow float32, where the score itself does not") {
  const Restore restore;
  set_threads(1);
  std::vector<HeadSpec> heads;
  for (const double ball : {0, 1, 2, 3}) heads.push_back(single({ScoreKind::hpb, {ball, -2}}));
  for (const Score& score :
       {Score{ScoreKind::log, {2}}, Score{ScoreKind::rbf, {1}}, Score{ScoreKind::wav, {1, 1}}})
    heads.push_back(single(score));
  heads.push_back(
      mixture({Score{ScoreKind::hpb, {0, -2}}, Score{ScoreKind::log, {2}}}, true, false));
  for (const HeadSpec& head : heads)
    for (const double epsilon : {0.0, 0.1}) {
      CAPTURE(head.to_text());
      HeadProblem p = head_problem(head, 70, 150, 6);  // three panels and three tiles
      p.options.smoothing.epsilon = epsilon;
      // Along their own directions, but for the last number: with ball=sigmoid the radius is e^it.
      for (int64_t i = 0; i < 5; ++i) {
        for (const int64_t row : {40, 69}) p.h[static_cast<size_t>(row * 6 + i)] *= 1e20;
        for (const int64_t word : {9, 140}) p.w[static_cast<size_t>(word * 6 + i)] *= 3e20;
      }
      p.targets[40] = 9;
      const HeadResult exact = run(p), single = run(p, DType::float32);
      CHECK(relative_error(single.nll, exact.nll) < 1e-5);
      for (size_t i = 0; i < single.gradients.size(); ++i)
        CHECK(relative_error(single.gradients[i], exact.gradients[i]) < 1e-4);
      p.options.memory = HeadMemory::tiles;
      CHECK(same_bits(run(p, DType::float32), single));
    }
}

TEST_CASE(
    "head: a target whose product has lost its digits leaves a mixture of pairs finite in "
    "float32") {
  const Restore restore;
  constexpr int64_t kSize = 64, kHalf = kSize / 2;
  for (const double log_variance : {-4.0, -8.0, -14.0}) {
    CAPTURE(log_variance);
    HeadProblem p = head_problem(single({ScoreKind::mog, {2, 1, 0, 1}}), 33, 70, kSize);
    for (int64_t r = 0; r < p.rows; ++r) {
      p.targets[static_cast<size_t>(r)] = static_cast<int32_t>(2 * r);
      double* h = p.h.data() + r * kSize;
      const double norm = std::sqrt(std::inner_product(h, h + kSize, h, 0.0));
      for (int64_t i = 0; i < kSize; ++i) {
        h[i] = i % kHalf == kHalf - 1 ? log_variance : h[i] * 1e4 / norm;
        p.w[static_cast<size_t>(2 * r * kSize + i)] =
            h[i] * (i % kHalf == kHalf - 1 ? 1 : 1 + 1e-5);
      }
    }
    CHECK(all_finite(run(p, DType::float32)));
  }
}

TEST_CASE("head: a tile of words that are out of float32's reach") {
  const Restore restore;
  HeadProblem p = head_problem(single({ScoreKind::pow, {6}}), 2, 3 * ops::kHeadTile, 4, 0.1);
  std::fill_n(p.w.begin(), ops::kHeadTile * p.size,
              1e7);  // q = 4e14, q^3 is no float: the first tile's scores are -infinity
  p.targets = {static_cast<int32_t>(p.words - 1), static_cast<int32_t>(ops::kHeadTile)};
  const HeadResult single = run(p, DType::float32);
  CHECK(relative_error(single.nll, run(p).nll) < 1e-5);
}

TEST_CASE(
    "head: every kernel at the extremes: finite, or an error that names the kernel and the row") {
  const Restore restore;
  set_threads(1);
  const auto attempt = [](const HeadProblem& p, const std::string& name) {
    for (const DType dtype : {DType::float32, DType::float64}) {
      std::string error;
      try {
        CHECK(all_finite(run(p, dtype)));
      } catch (const Error& e) {
        error = e.what();
        const std::string kernel = name.substr(0, name.find(':'));
        CHECK_MESSAGE((has(error, kernel) && has(error, "row ")), error);
      }
    }
  };
  for (const ScoreCase& c : score_cases()) {
    CAPTURE(c.name);
    const HeadProblem usual = head_problem(single(c.score), 33, 65, c.dims);
    HeadProblem p = usual;  // w = h exactly
    for (size_t n = 0; n < 33; ++n) {
      p.targets[n] = static_cast<int32_t>(n);
      std::copy_n(p.h.begin() + static_cast<long>(n) * c.dims, c.dims,
                  p.w.begin() + static_cast<long>(n) * c.dims);
    }
    attempt(p, c.name);
    p = usual;
    std::fill(p.w.begin(), p.w.end(), 0.0);
    attempt(p, c.name);
    std::fill(p.h.begin(), p.h.end(), 0.0);
    attempt(p, c.name);
    p = usual;  // |h| = 1e4
    for (double& x : p.h) x *= 1e4 / std::sqrt(static_cast<double>(c.dims) / 3);
    attempt(p, c.name);
    attempt(head_problem(single(c.score), 1, 1, c.dims), c.name);
    p = usual;
    for (size_t i = 0; i < p.w.size(); ++i) p.w[i] = p.w[i % static_cast<size_t>(c.dims)];
    attempt(p, c.name);
  }
  HeadProblem p =
      head_problem(mixture({{ScoreKind::lin, {}}, {ScoreKind::pol, {1, 1, 9}}}), 5, 9, 4);
  for (double& x : p.w) x *= 1e9;
  CHECK_THROWS_WITH_AS(run(p, DType::float32), doctest::Contains("component 1 (pol)"), Error);
}

TEST_CASE("head: a zero vector has the gradients of the formula") {
  const Restore restore;
  set_threads(1);
  for (const ScoreCase& c : score_cases()) {
    CAPTURE(c.name);
    if (has(c.name, "sigmoid")) continue;  // no direction: no gradient by definition, and a jump
    HeadProblem p = head_problem(single(c.score), 3, 5, c.dims);
    p.targets = {0, 1, 4};
    HeadProblem word = p, context = p;
    std::fill_n(word.w.begin(), c.dims, 0.0);  // of row 0's target
    std::fill_n(context.h.begin(), c.dims, 0.0);
    check_gradients(word);
    check_gradients(context);
  }
}

TEST_CASE(
    "head: in float64, words close to a context keep their digits, and equal ones have no "
    "gradient") {
  const Restore restore;
  set_threads(1);
  for (const ScoreCase& c : score_cases()) {
    CAPTURE(c.name);
    HeadProblem p = head_problem(single(c.score), 3, 6, c.dims, 30);
    p.targets = {0, 1, -1};
    const auto d = static_cast<size_t>(c.dims);
    for (size_t v = 0; v < 6; ++v)
      for (size_t i = 0; i < d; ++i) p.w[v * d + i] = p.h[i] + 1e-4 * p.w[v * d + i];
    std::copy_n(p.h.begin(), d, p.w.begin() + static_cast<long>(2 * d));
    const bool no_oracle = has(c.name, "tanh");  // its long double overflows at these norms
    if (!no_oracle && !has(c.name, "pol") && !has(c.name, "lin") && !has(c.name, "sig"))
      check_against_dense(p, 1e-9);
    HeadProblem smoothed = p;  // gradients of the words by given slopes
    smoothed.options.smoothing = {0.1, LabelSmoothing::Kind::uniform};
    const HeadResult blocks = run(smoothed);
    smoothed.options.memory = HeadMemory::tiles;
    CHECK(same_bits(run(smoothed), blocks));
    if (!has(c.name, "log") && !has(c.name, "pow") && !has(c.name, "rbf") && !has(c.name, "wav") &&
        !has(c.name, "hpb"))
      continue;
    p.targets = {0, -1, -1};  // row 0 alone
    const Doubles dw = run(p).gradients[1];
    for (size_t i = 0; i < d; ++i) CHECK(dw[2 * d + i] == 0);
    CHECK(*std::max_element(dw.begin(), dw.end()) > 0);
  }
}

TEST_CASE(
    "head: in float64, hpb keeps its digits along a context's ray, where a point of the ball is "
    "near that is far off") {
  const double factors[] = {0.95, 0.5, 1.1, 0.2, 1.0, -1.0};
  for (const ScoreCase& c : score_cases()) {
    if (!has(c.name, "hpb")) continue;
    CAPTURE(c.name);
    HeadProblem p = head_problem(single(c.score), 2, 6, c.dims, 1);
    p.targets = {3, 5};
    const auto d = static_cast<size_t>(c.dims);
    double norm = 0;
    for (size_t i = 0; i < d; ++i) norm += p.h[i] * p.h[i];
    for (size_t i = 0; i < d; ++i)
      p.h[i] *=
          3 /
          std::sqrt(norm);  // beyond clip's rim; as far as the oracle's long double goes for tanh
    for (size_t v = 0; v < 6; ++v)
      for (size_t i = 0; i < d; ++i) p.w[v * d + i] = factors[v] * p.h[i];
    check_against_dense(p, 1e-9);
  }
}

}  // namespace nine::tests::test_head_extremes
