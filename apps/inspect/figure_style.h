// The style sheet of kernel_inspect's figures.
#pragma once

#include <string_view>

namespace nine::app {

/// apps/inspect/figure.css, built into the program. The colours of the curves are those of
/// apps/report/report.css.
extern const std::string_view kFigureStyle;

}  // namespace nine::app
