// Curves as the charts of a report and the figures of kernel_inspect draw them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace nine::app {

/// A value over x, which is a training step in most charts of a report. The curve has a gap where y
/// is not finite.
struct Point {
  double x = 0;
  double y = 0;
};

/// Distinct colours; further curves repeat them with another dash pattern.
inline constexpr size_t kColours = 6;

/// One line of a chart or a figure.
struct Curve {
  std::string name;
  size_t colour = 0;  ///< index of the run or series, of any size
  bool dots = false;  ///< few, important points: a stronger line with a dot at each
  std::vector<Point> points;
  bool scattered = false;  ///< single points, without a line between them
};

/// The smallest and the largest finite y; `low` is above `high` when there is none.
struct ValueRange {
  double low, high;
};
ValueRange value_range(const std::vector<Curve>& curves);

/// The last point with a finite y, null when there is none.
const Point* last_finite(const Curve& curve);

/// The classes that give a curve its colour and dash pattern: "c0", "c5 dash1".
std::string curve_class(size_t colour);

}  // namespace nine::app
