// Charts of a head's vectors at the end of training: norms over counts, angles to the targets.
#pragma once

#include <vector>

#include "apps/report/chart.h"
#include "apps/report/run_log.h"

namespace nine::app {

/// Least squares: y = at_one + slope * log x.
struct LogLine {
  double at_one = 0, slope = 0;
};
/// Of the points with x > 0 and finite y; a slope of 0 where all x are one.
LogLine fit_log_line(const std::vector<Point>& points);

/// Those that the runs' logs have numbers for.
std::vector<Chart> vector_charts_of(const std::vector<Run>& runs);

}  // namespace nine::app
