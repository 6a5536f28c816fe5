#include "apps/report/run_label.h"

#include "apps/report/chart.h"
#include "apps/svg/text.h"

namespace nine::app {

std::string run_label(const std::vector<Run>& runs, size_t i) {
  const std::string name = isolated(runs[i].name);
  return runs.size() > 1 ? swatch_html(i, true) + "<span class=\"name\">" + name + "</span>" : name;
}

}  // namespace nine::app
