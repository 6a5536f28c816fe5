// Tests of differences, quantiles and bootstrap intervals, against scipy's figures (1.17.1) and
// figures by hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/random.h"
#include "data/measures/bootstrap.h"
#include "data/measures/significance.h"
#include "tests/support/support.h"

namespace nine::tests::test_significance {
namespace {

using doctest::Approx;

}  // namespace

TEST_CASE("mcnemar_exact: scipy.stats.binomtest") {
  CHECK(mcnemar_exact(10, 22) == Approx(0.050102459732443094).epsilon(1e-12));
  CHECK(mcnemar_exact(22, 10) == mcnemar_exact(10, 22));
  CHECK(mcnemar_exact(4, 15) == Approx(0.0192108154296875).epsilon(1e-12));
  CHECK(mcnemar_exact(9, 60) == Approx(2.2444496451277593e-10).epsilon(1e-10));
  CHECK(mcnemar_exact(121, 59) == Approx(4.4344492637551645e-06).epsilon(1e-10));
  CHECK(mcnemar_exact(1, 0) == Approx(1.0).epsilon(1e-15));
  CHECK(mcnemar_exact(0, 6) == Approx(2.0 / 64).epsilon(1e-14));  // by hand
  // Twice the smaller tail is more than 1 where both are equal.
  CHECK(mcnemar_exact(5, 5) == 1);
  CHECK(mcnemar_exact(0, 0) == 1);
  CHECK(has(error_of([] { mcnemar_exact(-1, 3); }), "a count must not be negative"));
}

// Holm (1979): 0.01, 0.04, 0.03 and 0.005 become 4 * 0.005 = 0.02, 3 * 0.01 = 0.03, 2 * 0.03 = 0.06
// and max(0.06, 0.04).
TEST_CASE("holm: by hand") {
  const std::vector<double> adjusted = holm(std::vector<double>{0.01, 0.04, 0.03, 0.005});
  REQUIRE(adjusted.size() == 4);
  CHECK(adjusted[0] == Approx(0.03));
  CHECK(adjusted[1] == Approx(0.06));
  CHECK(adjusted[2] == Approx(0.06));
  CHECK(adjusted[3] == Approx(0.02));
  CHECK(holm(std::vector<double>{0.7, 0.9}) == std::vector<double>{1, 1});
  CHECK(holm(std::vector<double>{0.3}) == std::vector<double>{0.3});
  CHECK(holm({}).empty());
  CHECK(has(error_of([] { holm(std::vector<double>{1.5}); }), "between 0 and 1"));
}

TEST_CASE("quantiles and tails: scipy.stats.norm and t") {
  CHECK(normal_quantile(0.95) == Approx(1.6448536269514722).epsilon(1e-13));
  CHECK(normal_quantile(0.9) == Approx(1.2815515655446004).epsilon(1e-13));
  CHECK(student_quantile(0.975, 4) == Approx(2.7764451051977934).epsilon(1e-12));
  CHECK(student_quantile(0.975, 2.5) == Approx(3.5746548420036817).epsilon(1e-12));
  CHECK(normal_two_sided(2) == Approx(0.04550026389635839).epsilon(1e-13));
  CHECK(normal_two_sided(-5.3) == Approx(1.1580268079929156e-07).epsilon(1e-10));
  CHECK(has(error_of([] { normal_quantile(1); }), "between 0 and 1"));
  CHECK(has(error_of([] { student_quantile(0.5, 0); }), "degrees of freedom"));
}

// 22,766 words of which 4% are discordant: the difference has the standard error
// sqrt(0.04 / 22766) = 0.1326%, and (1.6449 + 1.2816) times it is 0.388%.
TEST_CASE("equivalence_margin: by hand, and by simulation") {
  CHECK(equivalence_margin(std::sqrt(0.04 / 22766)) == Approx(0.0038790).epsilon(1e-4));
  // Equal systems are found equivalent within that margin in 80 of 100 experiments.
  const double margin = equivalence_margin(1);
  int64_t found = 0;
  constexpr int64_t kExperiments = 40000;
  for (int64_t i = 0; i < kExperiments; ++i) {
    const double difference = random_normal({.seed = 11}, static_cast<uint64_t>(i));
    found += std::fabs(difference) + normal_quantile(0.95) < margin ? 1 : 0;
  }
  CHECK(static_cast<double>(found) / kExperiments == Approx(0.8).epsilon(0.01));
}

TEST_CASE("bootstrap_ratios: each draw's ratio, paired by the seed") {
  const std::vector<double> sums{1, 2, 4}, counts{2, 2, 4};
  const std::vector<double> ratios = bootstrap_ratios(sums, counts, {.resamples = 5000, .seed = 3});
  CHECK(ratios.size() == 5000);
  CHECK(std::is_sorted(ratios.begin(), ratios.end()));
  // The possible ratios are those of the ten multisets of three units.
  std::vector<double> possible;
  for (size_t a = 0; a < 3; ++a)
    for (size_t b = a; b < 3; ++b)
      for (size_t c = b; c < 3; ++c)
        possible.push_back((sums[a] + sums[b] + sums[c]) / (counts[a] + counts[b] + counts[c]));
  for (const double r : ratios)
    CHECK(std::any_of(possible.begin(), possible.end(),
                      [&](double p) { return std::fabs(p - r) < 1e-12; }));
  // 27 equally likely draws: the lowest, three times the first unit, has a share of 1 / 27.
  const auto lowest =
      std::count_if(ratios.begin(), ratios.end(), [](double r) { return r < 0.51; });
  CHECK(static_cast<double>(lowest) / 5000 == Approx(1.0 / 27).epsilon(0.2));
  CHECK(has(error_of([&] { bootstrap_ratios(sums, std::vector<double>{1}, {}); }), "one unit"));
  CHECK(has(error_of([&] { bootstrap_ratios({}, {}, {}); }), "one unit"));
}

// Two units, of which the second has a denominator of 0: a quarter of the draws has none.
TEST_CASE("bootstrap_ratios: draws whose denominators are all 0 are drawn again") {
  const std::vector<double> sums{6, 3}, counts{3, 0};
  int64_t again = 0;
  const std::vector<double> ratios =
      bootstrap_ratios(sums, counts, {.resamples = 8000, .seed = 5}, &again);
  REQUIRE(ratios.size() == 8000);
  // Of the three draws that are left, one has the first unit twice (12 / 6), two have both (9 / 3).
  const auto twice = std::ranges::count(ratios, 2.0);
  CHECK(twice + std::ranges::count(ratios, 3.0) == 8000);
  CHECK(static_cast<double>(twice) / 8000 == Approx(1.0 / 3).epsilon(0.05));
  // Each result takes 1 / (1 - 1/4) draws on average.
  CHECK(static_cast<double>(again) / 8000 == Approx(1.0 / 3).epsilon(0.05));
  bootstrap_ratios(sums, std::vector<double>{3, 1}, {.resamples = 100}, &again);
  CHECK(again == 0);
  for (const std::vector<double>& wrong : {std::vector<double>{0, 0}, std::vector<double>{2, -1}})
    CHECK(has(error_of([&] { bootstrap_ratios(sums, wrong, {}); }), "draws have no ratio"));
}

TEST_CASE("percentile_interval: how many values lie outside") {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(i);
  CHECK(percentile_interval(values).low == 25);
  CHECK(percentile_interval(values).high == 974);
  CHECK(percentile_interval(values, 0.9).low == 50);
  CHECK(percentile_interval(values, 0.9).high == 949);
  CHECK(percentile_interval(std::vector<double>{7}).low == 7);
  CHECK(has(error_of([] { percentile_interval({}); }), "one value"));
}

}  // namespace nine::tests::test_significance
