// Figures as SVG files that stand alone: panels of lines with axes, in the reader's light or dark
// theme.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "apps/report/chart.h"

namespace nine::app {

using report::Curve;
using report::Point;

/// A word of text in a panel, at values of its axes.
struct Mark {
  double x = 0, y = 0;
  std::string text;
  bool dot = true;
};

struct Panel {
  std::string title, x_label;
  double x_low = 0, x_high = 1;
  double y_low = 0,
         y_high =
             0;  ///< equal: what the curves need, logarithmic when they are above 0 and range far
  std::vector<Curve> curves;  ///< a NaN in y is a gap
  std::vector<Mark> marks;
  bool square =
      false;  ///< a map: both axes have the same unit, so give both ranges the same length
};

/// Panels side by side, `columns` in a row, and a legend of all curves' names. `title` is read by
/// screen readers.
std::string figure_svg(const std::string& title, const std::vector<Panel>& panels, size_t columns);

/// Where f(x, y) is 0 over low..high in both, as short lines with gaps between: marching squares on
/// `cells` x `cells`.
template <class F>
std::vector<Point> zero_line(F&& f, double low, double high, int cells) {
  const double step = (high - low) / cells;
  std::vector<double> grid;
  for (int i = 0; i <= cells; ++i)
    for (int j = 0; j <= cells; ++j) grid.push_back(f(low + j * step, low + i * step));
  const size_t row = static_cast<size_t>(cells) + 1;
  const auto at = [&](int i, int j) {
    return grid[static_cast<size_t>(i) * row + static_cast<size_t>(j)];
  };
  std::vector<Point> points;
  for (int i = 0; i < cells; ++i)
    for (int j = 0; j < cells; ++j) {
      const int corner[4][2] = {{i, j}, {i, j + 1}, {i + 1, j + 1}, {i + 1, j}};
      int crossed = 0;
      for (int e = 0; e < 4; ++e) {
        const auto &a = corner[e], &b = corner[(e + 1) % 4];
        const double u = at(a[0], a[1]), v = at(b[0], b[1]);
        if (!std::isfinite(u) || !std::isfinite(v) || (u < 0) == (v < 0)) continue;
        const double part = u / (u - v);
        points.push_back({low + step * (a[1] + part * (b[1] - a[1])),
                          low + step * (a[0] + part * (b[0] - a[0]))});
        if (++crossed % 2 == 0) points.push_back({0, std::nan("")});
      }
    }
  return points;
}

}  // namespace nine::app
