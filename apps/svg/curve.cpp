#include "apps/svg/curve.h"

#include <algorithm>
#include <cmath>

namespace nine::app {

ValueRange value_range(const std::vector<Curve>& curves) {
  ValueRange range{INFINITY, -INFINITY};
  for (const Curve& curve : curves)
    for (const Point& p : curve.points)
      if (std::isfinite(p.y)) range = {std::min(range.low, p.y), std::max(range.high, p.y)};
  return range;
}

const Point* last_finite(const Curve& curve) {
  const auto found = std::find_if(curve.points.rbegin(), curve.points.rend(),
                                  [](const Point& p) { return std::isfinite(p.y); });
  return found == curve.points.rend() ? nullptr : &*found;
}

std::string curve_class(size_t colour) {
  const std::string base = "c" + std::to_string(colour % kColours);
  const size_t lap = colour / kColours;
  return lap == 0 ? base : base + " dash" + std::to_string(lap % 3);
}

}  // namespace nine::app
