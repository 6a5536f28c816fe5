#include "data/measures/significance.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/complement.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "core/error.h"

namespace nine {
namespace {

// Keeps Boost.Math from computing in long double. It would do so whenever a program starts, and
// valgrind has no long double.
using Doubles = boost::math::policies::policy<boost::math::policies::promote_double<false>>;

// Checks that p lies inside (0, 1), which is false for NaN.
void require_probability(const char* op, double p) {
  require(p > 0 && p < 1, "[", op, "] a probability of ", p, ": it must lie between 0 and 1");
}

}  // namespace

double mcnemar_exact(int64_t only_a, int64_t only_b) {
  require(only_a >= 0 && only_b >= 0, "[mcnemar_exact] counts of ", only_a, " and ", only_b,
          ": a count must not be negative");
  if (only_a + only_b == 0) return 1;
  const boost::math::binomial_distribution<double, Doubles> coin(
      static_cast<double>(only_a + only_b), 0.5);
  return std::min(1.0, 2 * boost::math::cdf(coin, static_cast<double>(std::min(only_a, only_b))));
}

std::vector<double> holm(std::span<const double> p_values) {
  std::vector<size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (const double p : p_values)
    require(p >= 0 && p <= 1, "[holm] a p value of ", p, ": it must lie between 0 and 1");
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  double largest = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, static_cast<double>(order.size() - i) * p_values[order[i]]);
    adjusted[order[i]] = std::min(1.0, largest);
  }
  return adjusted;
}

double normal_two_sided(double z) {
  const boost::math::normal_distribution<double, Doubles> normal;
  return 2 * boost::math::cdf(boost::math::complement(normal, std::fabs(z)));
}

double normal_quantile(double p) {
  require_probability("normal_quantile", p);
  return boost::math::quantile(boost::math::normal_distribution<double, Doubles>(), p);
}

double student_quantile(double p, double degrees_of_freedom) {
  require_probability("student_quantile", p);
  require(degrees_of_freedom > 0, "[student_quantile] ", degrees_of_freedom,
          " degrees of freedom: more than 0 are needed");
  return boost::math::quantile(
      boost::math::students_t_distribution<double, Doubles>(degrees_of_freedom), p);
}

double equivalence_margin(double standard_error, double alpha, double power) {
  return (normal_quantile(1 - alpha) + normal_quantile(1 - (1 - power) / 2)) * standard_error;
}

}  // namespace nine
