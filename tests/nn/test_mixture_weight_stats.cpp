// The numbers behind pi_mean and pi_var.
#include <doctest/doctest.h>

#include <cmath>

#include "nn/training/mixture_weight_stats.h"

namespace nine::tests::test_mixture_weight_stats {

TEST_CASE("prior stats: mean and variance of each component over the rows with a target") {
  MixtureWeightStats stats(2);
  CHECK(!stats);
  const auto logs = [](std::vector<double> p) {
    for (double& x : p) x = std::log(x);
    return Tensor::from<double>(p, {3, 2});
  };
  stats.add(logs({0.25, 0.75, 0.9, 0.1, 0.5, 0.5}), Tensor::from<int32_t>({4, -1, 0}, {3}));
  stats.add(logs({1, 1e-30, 0.1, 0.9, 0.1, 0.9}), Tensor::from<int32_t>({1, -1, -1}, {3}));
  REQUIRE(stats);
  const double mean = (0.25 + 0.5 + 1) / 3, square = (0.0625 + 0.25 + 1) / 3;
  CHECK(stats.mean()[0] == doctest::Approx(mean).epsilon(1e-14));
  CHECK(stats.mean()[1] == doctest::Approx(1.25 / 3).epsilon(1e-14));
  CHECK(stats.variance()[0] == doctest::Approx(square - mean * mean).epsilon(1e-12));
  stats.clear();
  CHECK(!stats);
}

}  // namespace nine::tests::test_mixture_weight_stats
