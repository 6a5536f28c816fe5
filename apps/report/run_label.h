// The name of a run on the page.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "apps/report/run_log.h"

namespace nine::app {

/// The name of `runs[i]` as HTML, with a sample of its curve where there are several runs.
std::string run_label(const std::vector<Run>& runs, size_t i);

}  // namespace nine::app
