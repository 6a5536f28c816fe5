// Bootstrap intervals of ratios (Efron, 1979): the units of a text, such as its sentences, are
// drawn with replacement, and each draw gives a ratio.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nine {

/// A confidence interval.
struct Interval {
  double low = 0, high = 0;
};

/// The number of draws and their seed.
struct BootstrapOptions {
  int64_t resamples = 1000;
  uint64_t seed = 1;
};

/// Returns the ratios of all draws in ascending order. A draw's ratio is the sum of its units'
/// numerators / the sum of their denominators, or 0 if the denominators add up to 0. A draw has as
/// many units as the text. The draws depend on the seed and the number of units only, so that two
/// calls with the same number of units use the same draws. But element i of one result and element
/// i of another may belong to different draws, because each result is sorted. Errors: resamples <
/// 1; different numbers of numerators and denominators; no units.
std::vector<double> bootstrap_ratios(std::span<const double> numerators,
                                     std::span<const double> denominators,
                                     const BootstrapOptions& options);

/// Returns the interval that leaves (1 - level) / 2 of the sorted values below and as many above.
/// Errors: no values; level outside of (0, 1).
Interval percentile_interval(std::span<const double> sorted, double level = 0.95);

}  // namespace nine
