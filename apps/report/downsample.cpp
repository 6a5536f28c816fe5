#include "apps/report/downsample.h"

#include <algorithm>
#include <cmath>

namespace nine::app {
namespace {

// Appends the smallest point, the largest and the last gap of points begin..end, in their order.
void append_extremes(const std::vector<Point>& points, size_t begin, size_t end,
                     std::vector<Point>& out) {
  size_t low = end, high = end, gap = end;
  for (size_t i = begin; i < end; ++i) {
    if (!std::isfinite(points[i].y)) {
      gap = i;
    } else {
      if (low == end || points[i].y < points[low].y) low = i;
      if (high == end || points[i].y > points[high].y) high = i;
    }
  }
  std::vector<size_t> kept{low, high, gap};
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  for (const size_t i : kept)
    if (i < end) out.push_back(points[i]);
}

}  // namespace

std::vector<Point> downsampled(const std::vector<Point>& points, size_t limit) {
  if (points.size() <= limit || limit < 5) return points;
  const bool gaps =
      std::any_of(points.begin(), points.end(), [](const Point& p) { return !std::isfinite(p.y); });
  const size_t inner = points.size() - 2;
  const size_t buckets = (limit - 2) / (gaps ? 3 : 2);
  std::vector<Point> out{points.front()};
  for (size_t b = 0; b < buckets; ++b)
    append_extremes(points, 1 + b * inner / buckets, 1 + (b + 1) * inner / buckets, out);
  out.push_back(points.back());
  return out;
}

}  // namespace nine::app
