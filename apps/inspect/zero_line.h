// Finds the curve on which a function of two variables is zero, for maps of equal scores.
#pragma once

#include <functional>
#include <vector>

#include "apps/svg/curve.h"

namespace nine::app {

/// Returns the points with f(x, y) = 0 for low..high in both variables, by marching squares on
/// `cells` x `cells` cells: a short line for each cell, followed by a gap (y is NaN). Leaves out
/// edges of cells if f is not finite at an end.
std::vector<Point> zero_line(const std::function<double(double, double)>& f, double low,
                             double high, int cells);

}  // namespace nine::app
