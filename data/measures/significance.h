// Significance tests of a difference, and quantiles for intervals and for planning a test. The
// distribution functions are Boost.Math's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nine {

/// Returns the two-sided p of the exact McNemar test (McNemar, 1947; binomial instead of
/// chi-squared) of two systems that took the same decisions. only_a and only_b count the decisions
/// that only system A or only system B had right. p is twice the probability of min(only_a, only_b)
/// heads or fewer in only_a + only_b tosses of a fair coin, at most 1. p is 1 if both counts are 0.
/// Error: a negative count.
double mcnemar_exact(int64_t only_a, int64_t only_b);

/// Returns p values adjusted for several tests (Holm, 1979), in the order given. Reject the
/// hypotheses whose value is at most alpha, the significance level for all tests together. Error: a
/// value outside of 0 ... 1.
std::vector<double> holm(std::span<const double> p_values);

/// Returns the probability that a standard normal number is at least |z| away from 0.
double normal_two_sided(double z);
/// Returns the p-quantile of the standard normal distribution. Error: p outside of (0, 1).
double normal_quantile(double p);
/// Returns the p-quantile of Student's t distribution. Errors: p outside of (0, 1);
/// degrees_of_freedom <= 0.
double student_quantile(double p, double degrees_of_freedom);

/// Returns the smallest equivalence margin of two one-sided tests at level `alpha` (TOST:
/// Schuirmann, 1987). With this margin the tests find two systems equivalent with probability
/// `power` if the systems do not differ and their difference has this standard error. Formula: (z(1
/// - alpha) + z(1 - (1 - power) / 2)) * standard_error, where z is normal_quantile(). Errors: those
/// of normal_quantile().
double equivalence_margin(double standard_error, double alpha = 0.05, double power = 0.8);

}  // namespace nine
