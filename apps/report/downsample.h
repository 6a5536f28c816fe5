// Fewer points of a curve without losing its spikes.
#pragma once

#include <vector>

#include "apps/svg/curve.h"

namespace nine::app {

/// The most points of a curve on a page.
inline constexpr size_t kCurvePoints = 600;

/// At most `limit` of the points, in their order: the first, the last, and of every bucket of
/// neighbours the smallest, the largest and a gap where there is one. All points when there are no
/// more than `limit`, or when `limit` is below 5.
std::vector<Point> downsampled(const std::vector<Point>& points, size_t limit = kCurvePoints);

}  // namespace nine::app
