#include "apps/report/chart.h"
#include "apps/report/run_charts.h"
#include "apps/report/sections.h"

namespace nine::app {

std::string charts_html(const std::vector<Run>& runs) {
  const std::vector<Chart> charts = charts_of(runs);
  std::string out = "<section>\n<h2 class=\"hidden\">Curves</h2>\n";
  if (charts.empty())
    return out +
           "<p class=\"quiet\">There are no curves yet: the log has no training, validation or "
           "test entry.</p>\n</section>\n";
  out += "<div class=\"charts\">\n";
  for (size_t i = 0; i < charts.size(); ++i)
    out += chart_html(charts[i], "chart" + std::to_string(i));
  return out + "</div>\n</section>\n";
}

}  // namespace nine::app
