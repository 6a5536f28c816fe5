// Tests of a difference, and quantiles that intervals and plans of a test need. The distribution
// functions are Boost.Math's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nine {

/// Exact McNemar test (McNemar, 1947; binomial instead of chi-squared) of two systems that took the
/// same decisions: only_a and only_b count the decisions that one system alone had right. The
/// two-sided p: twice the probability of the smaller count or less in only_a + only_b tosses of a
/// fair coin, at most 1; 1 where there is nothing to compare. Error: a negative count.
double mcnemar_exact(int64_t only_a, int64_t only_b);

/// p values adjusted for several tests (Holm, 1979), in the order given: each may be compared with
/// the level that holds for the whole family. Error: a value outside of 0 ... 1.
std::vector<double> holm(std::span<const double> p_values);

/// The probability that a standard normal number is as far from 0 as z or farther.
double normal_two_sided(double z);
/// The number below which a standard normal number stays with probability p. Error: p outside of
/// (0, 1).
double normal_quantile(double p);
/// The same for Student's t with so many degrees of freedom. Error: degrees of freedom <= 0.
double student_quantile(double p, double degrees_of_freedom);

/// The smallest margin for which two one-sided tests at level `alpha` (TOST: Schuirmann, 1987) find
/// two systems equivalent with probability `power` when they do not differ at all and their
/// difference is estimated with this standard error: (z(1 - alpha) + z(1 - (1 - power) / 2)) *
/// standard_error.
double equivalence_margin(double standard_error, double alpha = 0.05, double power = 0.8);

}  // namespace nine
