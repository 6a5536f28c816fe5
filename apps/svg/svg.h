// The renderer behind every picture: paths, text and images as SVG, in the coordinates of a plot.
// The charts and word maps of nine_report and the figures of kernel_inspect are put together from
// it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/svg/curve.h"
#include "apps/svg/scale.h"

namespace nine::app {

/// Names and values of an element's attributes, in the order in which they are written. Values are
/// HTML already.
using Attributes = std::vector<std::pair<std::string_view, std::string>>;

/// <name a="b"/> without content.
std::string element(std::string_view name, const Attributes& attributes);
/// <name a="b">content</name>; `content` is HTML already.
std::string element(std::string_view name, const Attributes& attributes, std::string_view content);

/// The commands of a path, its attribute `d`. Coordinates are written with at most two decimals.
class PathData {
 public:
  PathData& move_to(double x, double y) { return pair('M', x, y); }
  PathData& line_to(double x, double y) { return pair('L', x, y); }
  PathData& horizontal_to(double x) { return number('H', x); }
  PathData& vertical_to(double y) { return number('V', y); }
  PathData& horizontal(double dx) { return number('h', dx); }
  PathData& vertical(double dy) { return number('v', dy); }
  /// A line of length zero, which round line caps show as a dot.
  PathData& dot() { return number('h', 0); }

  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  PathData& pair(char command, double x, double y);
  PathData& number(char command, double value);

  std::string text_;
};

/// A <path> on a line of its own.
std::string path(const std::string& classes, const PathData& data);

/// One line of text whose `anchor` (start, middle or end) is at (x, y), on a line of its own.
/// `content` is plain text; no class when `classes` is empty.
std::string text_at(double x, double y, const std::string& content, const char* anchor,
                    const std::string& classes = "");

/// The rectangle of a drawing in which values are drawn, with the axes along its sides.
struct PlotArea {
  double left = 0, top = 0, width = 0, height = 0;
  Axis x, y;

  /// The places of values, in the drawing's units; y grows upwards.
  double px(double value) const { return left + width * x.scale.at(value); }
  double py(double value) const { return top + height * (1 - y.scale.at(value)); }
};

/// What a single point between two gaps becomes.
enum class LonePoint : uint8_t { nothing, dot };

/// Lines from point to point, with a new subpath after each gap.
PathData curve_path(const PlotArea& area, const std::vector<Point>& points, LonePoint lone);
/// A dot at each point with a finite y.
PathData dots_path(const PlotArea& area, const std::vector<Point>& points);

/// A short sample of a curve, or a dot, for legends and tables: `paths` in a box of 22 x 8.
std::string swatch(const std::string& paths);

/// The accessible name and description of an image, for screen readers.
struct ImageText {
  std::string id;                  ///< unique on the page; empty in a file of its own
  std::string title, description;  ///< HTML already; no description when it is empty
};

/// The whole <svg>, an image with a name. `attributes` stand before those of the accessible name.
std::string image(const Attributes& attributes, const ImageText& text, const std::string& content);

}  // namespace nine::app
