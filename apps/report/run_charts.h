// Which charts a report shows, and with which curves.
#pragma once

#include <vector>

#include "apps/report/chart.h"
#include "apps/report/run_log.h"

namespace nine::app {

/// The charts of `runs`, the important one first; those without any value are left out. One run
/// shows training and validation in one chart, several runs are overlaid, each in its own colour.
std::vector<Chart> charts_of(const std::vector<Run>& runs);

}  // namespace nine::app
