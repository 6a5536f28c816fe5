// Bootstrap intervals of ratios (Efron, 1979): what a text is cut into, such as its sentences, is
// drawn again with replacement, and the ratio is computed of each draw.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nine {

/// A confidence interval.
struct Interval {
  double low = 0, high = 0;
};

/// How often and from which seed the units are drawn again.
struct BootstrapOptions {
  int64_t resamples = 1000;
  uint64_t seed = 1;
};

/// sum of numerators / sum of denominators over the units of each draw, ascending; 0 for a draw
/// whose denominators add up to 0. Draws have as many units as there are. The same for the same
/// seed with any number of threads; calls with the same number of units draw the same units, which
/// makes two of them paired. Errors: resamples < 1; not one denominator a numerator; no unit.
std::vector<double> bootstrap_ratios(std::span<const double> numerators,
                                     std::span<const double> denominators,
                                     const BootstrapOptions& options);

/// The interval that leaves (1 - level) / 2 of the sorted values below and as many above it.
/// Error: no value; level outside of (0, 1).
Interval percentile_interval(std::span<const double> sorted, double level = 0.95);

}  // namespace nine
