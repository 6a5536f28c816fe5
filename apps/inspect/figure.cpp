#include "apps/inspect/figure.h"

#include <algorithm>

#include "apps/inspect/figure_style.h"
#include "apps/svg/svg.h"
#include "apps/svg/text.h"
#include "core/error.h"

namespace nine::app {
namespace {

// Pixels: a panel's size without the margins for titles and labels, the margins, a legend's line.
constexpr double kPanelWidth = 420, kPlotHeight = 260;
constexpr double kLeft = 52, kRight = 14, kTop = 34, kBottom = 46;
constexpr double kPlotWidth = kPanelWidth - kLeft - kRight;
constexpr double kLegendLine = 20, kLetter = 7.2, kSwatchAndGaps = 46;
constexpr int kTicks = 5;

double plot_height(bool square) { return square ? kPlotWidth : kPlotHeight; }

std::string path_unless_empty(const std::string& classes, const PathData& data) {
  return data.empty() ? std::string() : path(classes, data);
}

Axis y_axis(const Panel& panel) {
  if (panel.y_high > panel.y_low) return linear_axis(panel.y_low, panel.y_high, kTicks);
  const ValueRange range = value_range(panel.curves);
  return value_axis(range.low, range.high, false);
}

// The line at y = 0, or at the lower end where 0 is not inside. Maps have none.
PathData base_line(const PlotArea& area, bool square) {
  if (square) return {};
  const Scale& y = area.y.scale;
  const double base = !y.log && y.low < 0 && y.high > 0 ? 0 : y.low;
  return PathData().move_to(area.left, area.py(base)).horizontal(area.width);
}

std::string axes_svg(const PlotArea& area, const Panel& panel) {
  PathData grid;
  std::string labels;
  for (const double tick : area.y.ticks) {
    const double y = area.py(tick);
    grid.move_to(area.left, y).horizontal(area.width);
    labels += text_at(area.left - 7, y + 4, compact(tick), "end");
  }
  const double bottom = area.top + area.height;
  for (const double tick : area.x.ticks) {
    const double x = area.px(tick);
    if (panel.square) grid.move_to(x, area.top).vertical(area.height);
    labels += text_at(x, bottom + 17, compact(tick), "middle");
  }
  return path_unless_empty("grid", grid) +
         path_unless_empty("zero", base_line(area, panel.square)) + labels +
         text_at(area.left + area.width, bottom + 33, panel.x_label, "end") +
         text_at(area.left, area.top - 12, panel.title + (area.y.scale.log ? " (log scale)" : ""),
                 "start", "title");
}

// The curves, cut at the plot's border. `id` names the border within the file.
std::string curves_svg(const PlotArea& area, const Panel& panel, const std::string& id) {
  const std::string border = element("rect", {{"x", coordinate(area.left)},
                                              {"y", coordinate(area.top - 2)},
                                              {"width", coordinate(area.width)},
                                              {"height", coordinate(area.height + 4)}});
  std::string curves = "\n";
  for (const Curve& curve : panel.curves)
    curves += path_unless_empty("line " + curve_class(curve.colour),
                                curve_path(area, curve.points, LonePoint::nothing));
  return element("clipPath", {{"id", id}}, border) + '\n' +
         element("g", {{"clip-path", concat("url(#", id, ")")}}, curves) + '\n';
}

std::string mark_svg(const PlotArea& area, const Mark& mark) {
  const double x = area.px(mark.x), y = area.py(mark.y);
  if (!mark.dot) return text_at(x, y, mark.text, "middle", "name");
  return element("circle",
                 {{"class", "mark"}, {"r", "3.5"}, {"cx", coordinate(x)}, {"cy", coordinate(y)}}) +
         '\n' + text_at(x + 7, y - 6, mark.text, "start", "name");
}

std::string panel_svg(const Panel& panel, double left, double top, const std::string& id) {
  const PlotArea area{.left = left + kLeft,
                      .top = top + kTop,
                      .width = kPlotWidth,
                      .height = plot_height(panel.square),
                      .x = linear_axis(panel.x_low, panel.x_high, kTicks),
                      .y = y_axis(panel)};
  std::string out = axes_svg(area, panel) + curves_svg(area, panel, id);
  for (const Mark& mark : panel.marks) out += mark_svg(area, mark);
  return out;
}

// The curves of all panels that have a name, each name once.
std::vector<const Curve*> named_curves(const std::vector<Panel>& panels) {
  std::vector<const Curve*> named;
  for (const Panel& panel : panels)
    for (const Curve& curve : panel.curves) {
      const auto same = [&](const Curve* other) { return other->name == curve.name; };
      if (!curve.name.empty() && std::none_of(named.begin(), named.end(), same))
        named.push_back(&curve);
    }
  return named;
}

struct Legend {
  std::string svg;
  double height = 0;
};

// Lines of swatches with names, from `top` down, each as long as the figure is wide.
Legend legend_of(const std::vector<Panel>& panels, double top, double width) {
  Legend legend;
  double x = kLeft, y = top + 14;
  for (const Curve* curve : named_curves(panels)) {
    const double room = kSwatchAndGaps + kLetter * static_cast<double>(curve->name.size());
    if (x + room > width && x > kLeft) x = kLeft, y += kLegendLine;
    legend.svg +=
        path("line " + curve_class(curve->colour), PathData().move_to(x, y - 4).horizontal(24)) +
        text_at(x + 30, y, curve->name, "start", "name");
    legend.height = y - top + 12;
    x += room;
  }
  return legend;
}

}  // namespace

std::string figure_svg(const std::string& title, const std::vector<Panel>& panels, size_t columns) {
  require(!panels.empty() && columns > 0, "[figure] there is nothing to draw");
  const bool square =
      std::any_of(panels.begin(), panels.end(), [](const Panel& p) { return p.square; });
  const size_t row_count = (panels.size() + columns - 1) / columns;
  const double row = kTop + kBottom + plot_height(square),
               width = kPanelWidth * static_cast<double>(std::min(columns, panels.size())),
               rows = static_cast<double>(row_count);
  std::string body;
  for (size_t i = 0; i < panels.size(); ++i) {
    const size_t in_row = i / columns, in_column = i % columns;
    body += panel_svg(panels[i], kPanelWidth * static_cast<double>(in_column),
                      row * static_cast<double>(in_row), "panel" + std::to_string(i));
  }
  const Legend legend = legend_of(panels, row * rows, width);
  const std::string wide = coordinate(width), high = coordinate(row * rows + legend.height);
  return image({{"xmlns", "http://www.w3.org/2000/svg"},
                {"viewBox", concat("0 0 ", wide, " ", high)},
                {"width", wide},
                {"height", high}},
               {.id = "", .title = escaped(title), .description = ""},
               concat("<style>\n", kFigureStyle, "</style>\n",
                      element("rect", {{"class", "ground"}, {"width", wide}, {"height", high}}),
                      "\n", body, legend.svg));
}

}  // namespace nine::app
