// The curve on which a function of two variables is zero, for maps of equal scores.
#pragma once

#include <functional>
#include <vector>

#include "apps/svg/curve.h"

namespace nine::app {

/// Where f(x, y) = 0 over low..high in both variables, by marching squares on `cells` x `cells`: a
/// short line a cell, with a gap (y is NaN) after each. Edges of cells with an end at which f is
/// not finite are left out.
std::vector<Point> zero_line(const std::function<double(double, double)>& f, double low,
                             double high, int cells);

}  // namespace nine::app
