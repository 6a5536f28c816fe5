// Draws figures as SVG files: panels of curves with axes, in the reader's light or dark theme.
#pragma once

#include <string>
#include <vector>

#include "apps/svg/curve.h"

namespace nine::app {

/// A word of text in a panel, at values of its axes.
struct Mark {
  double x = 0, y = 0;
  std::string text;
  bool dot = true;  ///< with a dot at the place and the text beside it
};

/// One plot of a figure.
struct Panel {
  std::string title, x_label;
  double x_low = 0, x_high = 1;
  /// The range of an axis. If both ends are equal, it is the range that the curves need, on a
  /// logarithmic scale if all values are positive and far apart.
  double y_low = 0, y_high = 0;
  std::vector<Curve> curves;
  std::vector<Mark> marks;
  /// True if both axes have the same unit, as on a map. Both ranges must then have the same length.
  bool square = false;
};

/// Returns a figure with panels side by side, `columns` in a row, and a legend of all curves'
/// names. Screen readers read `title`. Error: no panels.
std::string figure_svg(const std::string& title, const std::vector<Panel>& panels, size_t columns);

}  // namespace nine::app
