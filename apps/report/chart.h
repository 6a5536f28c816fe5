// Line charts as inline SVG with HTML labels.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace nine::report {

/// A value over a step; y is not finite where the run had no finite value: the curve has a gap
/// there.
struct Point {
  double x = 0;
  double y = 0;
};

/// Distinct colours; further curves repeat them with another dash pattern.
inline constexpr size_t kColours = 6;
/// The most points that a drawn curve has.
inline constexpr size_t kCurvePoints = 600;

/// One line of a chart.
struct Curve {
  std::string name;
  size_t colour = 0;  // index of the run or series
  bool dots = false;  // few, important points: a stronger line with a dot at each
  std::vector<Point> points;
};

/// A horizontal line that curves are held against.
struct Reference {
  std::string name;
  double y = 0;
};

/// What a chart shows; the same step has the same place in all charts with the same `x_low`,
/// `x_high`.
struct Chart {
  std::string title;
  std::string note;  // what y is and in which unit
  std::vector<Curve> curves;
  std::vector<Reference> references;
  double x_low = 0, x_high = 1;
  bool from_zero =
      false;  // y starts at 0; otherwise it covers the values, on a log scale when they range far
  bool large = false;  // spans the page, with curve names at the lines' ends
};

/// At most `limit` points, among them the first, the last and every bucket's smallest and largest,
/// so that spikes stay; gaps stay too.
std::vector<Point> thinned(const std::vector<Point>& points, size_t limit = kCurvePoints);

/// True when any curve has a finite value.
bool has_values(const Chart& chart);

/// The classes that give a curve its colour and dash pattern.
std::string curve_class(size_t colour);

/// A short piece of the curve's line for legends and tables.
std::string swatch_html(size_t colour, bool dots);

/// The chart as a <figure>. `id` is unique on the page.
std::string chart_html(const Chart& chart, const std::string& id);

}  // namespace nine::report
