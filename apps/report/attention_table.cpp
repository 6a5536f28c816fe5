#include "apps/report/attention_table.h"

#include <algorithm>
#include <cmath>

#include "apps/svg/text.h"
#include "core/error.h"

namespace nine::app {

std::string attention_table(const std::string& caption, const std::vector<std::string>& rows,
                            const std::vector<std::string>& columns,
                            const std::vector<std::vector<double>>& thousandths) {
  std::string out =
      concat("<div class=\"scroll\"><table class=\"attention\">\n<caption class=\"hidden\">",
             escaped(caption), "</caption>\n<thead><tr><td></td>");
  for (const std::string& column : columns)
    out += "<th scope=\"col\"><span>" + isolated(column) + "</span></th>";
  out += "</tr></thead>\n<tbody>\n";
  for (size_t r = 0; r < rows.size(); ++r) {
    out += "<tr><th scope=\"row\">" + isolated(rows[r]) + "</th>";
    for (const double share : thousandths[r]) {
      const double percent = std::isfinite(share) ? std::clamp(share / 10, 0.0, 100.0) : 0;
      out += concat("<td style=\"--a:", std::lround(percent), "%\"><span>", std::lround(percent),
                    "</span></td>");
    }
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table></div>\n";
}

}  // namespace nine::app
