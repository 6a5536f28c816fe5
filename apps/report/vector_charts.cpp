#include "apps/report/vector_charts.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace nine::app {
namespace {

// In ascending order of x, as the page's script reads them.
std::vector<Point> points_of(const std::vector<double>& counts, const std::vector<double>& norms) {
  std::vector<Point> points;
  for (size_t i = 0; i < counts.size(); ++i)
    if (std::isfinite(counts[i]) && std::isfinite(norms[i]))
      points.push_back({std::max(1.0, counts[i]), norms[i]});
  std::stable_sort(points.begin(), points.end(),
                   [](const Point& a, const Point& b) { return a.x < b.x; });
  return points;
}

Chart norms_chart(const std::vector<Run>& runs) {
  Chart chart{.title = "Norms of word vectors",
              .note =
                  "‖w‖ over a word's count in training; the line is a + b log count by least "
                  "squares",
              .x_low = INFINITY,
              .x_high = 1,
              .x_name = "count",
              .x_log = true,
              .from_zero = true};
  for (const Run& run : runs) {
    const std::string of = runs.size() > 1 ? ", " + run.name : "";
    const std::vector<Point> own = points_of(run.word_norms.counts, run.word_norms.norms);
    if (own.empty()) continue;
    const size_t colour = chart.curves.size();
    chart.curves.push_back({"‖w‖" + of, colour, false, own, true});
    const LogLine line = fit_log_line(own);
    Curve fit{"a + b log count" + of, colour + 1, false, {}};
    for (const Point& p : {own.front(), own.back()})
      fit.points.push_back({p.x, line.at_one + line.slope * std::log(p.x)});
    chart.curves.push_back(std::move(fit));
    if (!run.word_norms.given.empty())
      chart.curves.push_back({"‖w‖ in the score" + of, colour + 2, false,
                              points_of(run.word_norms.counts, run.word_norms.given), true});
    chart.x_low = std::min(chart.x_low, own.front().x);
    chart.x_high = std::max(chart.x_high, own.back().x);
  }
  return chart;
}

Chart angles_chart(const std::vector<Run>& runs) {
  Chart chart{.title = "Angle between target and context",
              .note =
                  "share of the validation text's tokens, in per cent for each bin; the best "
                  "model",
              .x_low = 0,
              .x_high = 180,
              .x_name = "degrees",
              .from_zero = true};
  for (size_t i = 0; i < runs.size(); ++i) {
    const TargetAngles& a = runs[i].target_angles;
    const double all = std::accumulate(a.tokens.begin(), a.tokens.end(), 0.0);
    if (!(all > 0) || !(a.degrees > 0)) continue;
    Curve curve{runs.size() > 1 ? runs[i].name : "Tokens", i, false, {}};
    for (size_t b = 0; b < a.tokens.size(); ++b)
      curve.points.push_back({(static_cast<double>(b) + 0.5) * a.degrees, 100 * a.tokens[b] / all});
    chart.curves.push_back(std::move(curve));
  }
  return chart;
}

}  // namespace

LogLine fit_log_line(const std::vector<Point>& points) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const Point& p : points) {
    if (!(p.x > 0) || !std::isfinite(p.y)) continue;
    const double l = std::log(p.x);
    n += 1, x += l, y += p.y, xx += l * l, xy += l * p.y;
  }
  const double spread = xx - x * x / n;
  if (n == 0) return {};
  const double slope = spread > 1e-12 * xx ? (xy - x * y / n) / spread : 0;
  return {(y - slope * x) / n, slope};
}

std::vector<Chart> vector_charts_of(const std::vector<Run>& runs) {
  std::vector<Chart> charts{norms_chart(runs), angles_chart(runs)};
  std::erase_if(charts, [](const Chart& c) { return !has_values(c); });
  return charts;
}

}  // namespace nine::app
