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
/// numerators / the sum of their denominators. A draw has as many units as the text. If its
/// denominators are all 0, it has no ratio and is drawn again; `drawn_again`, if set, becomes the
/// number of such draws. The draws depend on the seed, the number of units and the denominators
/// that are 0, so that two calls with the same denominators use the same draws. But element i of
/// one result and element i of another may belong to different draws, because each result is
/// sorted. Errors: resamples < 1; different numbers of numerators and denominators; no units; a
/// denominator below 0; no denominator above 0.
std::vector<double> bootstrap_ratios(std::span<const double> numerators,
                                     std::span<const double> denominators,
                                     const BootstrapOptions& options,
                                     int64_t* drawn_again = nullptr);

/// Returns the interval that leaves (1 - level) / 2 of the sorted values below and as many above.
/// Errors: no values; level outside of (0, 1).
Interval percentile_interval(std::span<const double> sorted, double level = 0.95);

}  // namespace nine
