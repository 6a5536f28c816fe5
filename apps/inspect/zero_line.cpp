#include "apps/inspect/zero_line.h"

#include <cmath>

namespace nine::app {

std::vector<Point> zero_line(const std::function<double(double, double)>& f, double low,
                             double high, int cells) {
  const double step = (high - low) / cells;
  std::vector<double> grid;
  for (int i = 0; i <= cells; ++i)
    for (int j = 0; j <= cells; ++j) grid.push_back(f(low + j * step, low + i * step));
  const size_t row = static_cast<size_t>(cells) + 1;
  const auto value_at = [&](int i, int j) {
    return grid[static_cast<size_t>(i) * row + static_cast<size_t>(j)];
  };
  std::vector<Point> points;
  for (int i = 0; i < cells; ++i)
    for (int j = 0; j < cells; ++j) {
      const int corner[4][2] = {{i, j}, {i, j + 1}, {i + 1, j + 1}, {i + 1, j}};
      int crossed = 0;
      for (int edge = 0; edge < 4; ++edge) {
        const auto &a = corner[edge], &b = corner[(edge + 1) % 4];
        const double u = value_at(a[0], a[1]), v = value_at(b[0], b[1]);
        if (!std::isfinite(u) || !std::isfinite(v) || (u < 0) == (v < 0)) continue;
        const double part = u / (u - v);  // linear interpolation along the edge
        points.push_back({low + step * (a[1] + part * (b[1] - a[1])),
                          low + step * (a[0] + part * (b[0] - a[0]))});
        if (++crossed % 2 == 0) points.push_back({0, std::nan("")});
      }
    }
  return points;
}

}  // namespace nine::app
