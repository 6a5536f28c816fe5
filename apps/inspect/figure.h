// Figures as SVG files that stand alone: panels of curves with axes, in the reader's light or dark
// theme.
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
  /// Equal: the range that the curves need, on a logarithmic scale when all values are positive and
  /// far apart.
  double y_low = 0, y_high = 0;
  std::vector<Curve> curves;
  std::vector<Mark> marks;
  /// Both axes have the same unit, as on a map; both ranges must have the same length.
  bool square = false;
};

/// Panels side by side, `columns` in a row, and a legend of all curves' names. `title` is read by
/// screen readers. Error: no panels.
std::string figure_svg(const std::string& title, const std::vector<Panel>& panels, size_t columns);

}  // namespace nine::app
