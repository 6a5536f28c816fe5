// Weights of mixtures: EM against all weights of a grid, and what it promises.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "data/mixture_weights.h"
#include "tests/support/support.h"

namespace nine::tests::test_mixture_weights {
namespace {

using Rows = std::vector<std::vector<double>>;

// Probabilities of models, each of which is good at some tokens.
Rows random_rows(size_t models, size_t tokens, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> log_p(-8, 0);
  Rows rows(models, std::vector<double>(tokens));
  for (std::vector<double>& row : rows)
    for (double& x : row) x = random() % 10 == 0 ? -INFINITY : log_p(random);
  return rows;
}

double mean_log_p(const Rows& rows, const std::vector<double>& weights) {
  double sum = 0;
  int tokens = 0;
  for (size_t t = 0; t < rows[0].size(); ++t) {
    double p = 0;
    bool possible = false;
    for (size_t m = 0; m < rows.size(); ++m) {
      p += weights[m] * std::exp(rows[m][t]);
      possible = possible || std::isfinite(rows[m][t]);
    }
    if (!possible) continue;
    sum += std::log(p);
    ++tokens;
  }
  return sum / tokens;
}

}  // namespace

TEST_CASE("tune_mixture_weights: no weights of a grid are better, and each update is") {
  for (uint32_t seed = 0; seed < 8; ++seed) {
    const Rows two = random_rows(2, 60, seed), three = random_rows(3, 60, seed + 50);
    const TunedMixtureWeights of_two = tune_mixture_weights(two),
                              of_three = tune_mixture_weights(three);
    double best_of_two = -INFINITY, best_of_three = -INFINITY;
    for (int a = 0; a <= 400; ++a)
      best_of_two = std::max(best_of_two, mean_log_p(two, {a / 400.0, 1 - a / 400.0}));
    for (int a = 0; a <= 60; ++a)
      for (int b = 0; a + b <= 60; ++b)
        best_of_three =
            std::max(best_of_three, mean_log_p(three, {a / 60.0, b / 60.0, (60 - a - b) / 60.0}));
    for (const auto& [tuned, rows, best, step] :
         {std::tuple(of_two, two, best_of_two, 1e-4), {of_three, three, best_of_three, 5e-3}}) {
      const double reached = tuned.mean_log_p.back();
      CHECK(reached == doctest::Approx(mean_log_p(rows, tuned.weights)).epsilon(1e-12));
      CHECK(reached >= best - 1e-9);
      CHECK(reached <= best + step);  // the grid is not that coarse
      CHECK(tuned.gap <= 1e-9);
      CHECK_FALSE(tuned.stopped);
      for (size_t i = 1; i < tuned.mean_log_p.size(); ++i)
        CHECK(tuned.mean_log_p[i] >= tuned.mean_log_p[i - 1] - 1e-14);
    }
  }
}

TEST_CASE("tune_mixture_weights: the gap bounds what other weights gain, wherever it stops") {
  const Rows rows = random_rows(3, 80, 7);
  const double best = tune_mixture_weights(rows, 1e-12).mean_log_p.back();
  for (const double tolerance : {0.5, 0.1, 0.01, 1e-4}) {
    const TunedMixtureWeights early = tune_mixture_weights(rows, tolerance);
    CHECK(early.gap <= tolerance);
    CHECK(best - early.mean_log_p.back() <= early.gap + 1e-12);
  }
}

TEST_CASE("tune_mixture_weights: a useless model, tokens without probability, tiny probabilities") {
  Rows rows{{-1, -2, -3, -INFINITY}, {-2, -3, -4, -INFINITY}};
  const TunedMixtureWeights tuned = tune_mixture_weights(rows);
  CHECK(tuned.tokens == 3);
  CHECK(tuned.weights[0] == doctest::Approx(1));
  CHECK(tuned.mean_log_p.back() == doctest::Approx(-2));
  for (std::vector<double>& row : rows)
    for (double& x : row) x -= 5000;
  CHECK(tune_mixture_weights(rows).weights[0] == doctest::Approx(tuned.weights[0]));
  const std::vector<double> mixed = mixture_log_p(rows, std::vector<double>{0.25, 0.75});
  CHECK(mixed[0] == doctest::Approx(-5001 + std::log(0.25 + 0.75 * std::exp(-1.0))));
  CHECK(mixed[3] == -INFINITY);
  CHECK(mixture_log_p(rows, std::vector<double>{0.0, 1.0})[1] == doctest::Approx(-5003));
  const Rows never{{-INFINITY}, {-INFINITY}};
  CHECK(has(error_of([&] { tune_mixture_weights(never); }), "no token of the text"));
  CHECK(has(error_of([&] { mixture_log_p(rows, std::vector<double>{1}); }), "1 weights for 2"));
}

}  // namespace nine::tests::test_mixture_weights
