#include "apps/inspect/drawing.h"

#include <algorithm>

#include "apps/report/scale.h"
#include "apps/report/text.h"
#include "core/error.h"

namespace nine::app {
namespace {

using report::coordinate;
using report::escaped;

constexpr double kWide = 420, kHigh = 260, kLeft = 52, kRight = 14, kTop = 34, kBottom = 46,
                 kLegendLine = 20;
constexpr size_t kPoints = 400;

// The colours are the report's (apps/report/style.cpp).
constexpr const char* kFigureStyle = R"css(
svg { background: var(--ground); font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", Arial, sans-serif; color-scheme: light dark;
  --ground: #fcfcfa; --ink: #1b1e23; --quiet: #5c6470; --grid: #ecece7;
  --c0: #1f6fc4; --c1: #b8390d; --c2: #0a5c48; --c3: #c07ab8; --c4: #b78a00; --c5: #43256f; }
@media (prefers-color-scheme: dark) { svg { --ground: #111418; --ink: #e7e9ec; --quiet: #9ba4b0; --grid: #232931;
  --c0: #66b2ff; --c1: #ff8f57; --c2: #b7f6be; --c3: #c97bb4; --c4: #f5e667; --c5: #f0566a; } }
.ground { fill: var(--ground); } text { fill: var(--quiet); } .title { fill: var(--ink); font-weight: 600; font-size: 13px; } .name { fill: var(--ink); }
path { fill: none; } .grid { stroke: var(--grid); } .zero { stroke: var(--quiet); } .line { stroke: var(--c); stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round; }
.mark { fill: var(--ink); } .dash1 { stroke-dasharray: 7 4; stroke-linecap: butt; } .dash2 { stroke-dasharray: 2 3; stroke-linecap: butt; }
.c0 { --c: var(--c0); } .c1 { --c: var(--c1); } .c2 { --c: var(--c2); } .c3 { --c: var(--c3); } .c4 { --c: var(--c4); } .c5 { --c: var(--c5); }
)css";

std::string text_at(double x, double y, const std::string& text, const char* anchor,
                    const char* type = "") {
  return concat("<text x=\"", coordinate(x), "\" y=\"", coordinate(y), "\" text-anchor=\"", anchor,
                "\"", *type == 0 ? "" : concat(" class=\"", type, "\""), ">", escaped(text),
                "</text>\n");
}
std::string path(const std::string& type, const std::string& d) {
  return d.empty() ? "" : "<path class=\"" + type + "\" d=\"" + d + "\"/>\n";
}

struct Frame {
  double x = 0, y = 0, width = 0, height = 0;  // of the plot itself
  report::Axis across, up;
  double px(double v) const { return x + width * across.scale.at(v); }
  double py(double v) const { return y + height * (1 - up.scale.at(v)); }
};

report::Axis vertical(const Panel& p) {
  if (p.y_high > p.y_low) return report::linear_axis(p.y_low, p.y_high, 5);
  double low = INFINITY, high = -INFINITY;
  for (const Curve& c : p.curves)
    for (const Point& point : c.points)
      if (std::isfinite(point.y)) low = std::min(low, point.y), high = std::max(high, point.y);
  return report::value_axis(low, high, false);
}

std::string line_path(const Frame& f, const Curve& curve) {
  std::string d;
  bool open = false;
  for (const Point& p : curve.points) {
    if (std::isfinite(p.y))
      d += concat(open ? "L" : "M", coordinate(f.px(p.x)), " ", coordinate(f.py(p.y)));
    open = std::isfinite(p.y);
  }
  return d;
}

std::string axes(const Frame& f, const Panel& p) {
  std::string grid, labels;
  for (const double t : f.up.ticks) {
    grid += concat("M", coordinate(f.x), " ", coordinate(f.py(t)), "h", coordinate(f.width));
    labels += text_at(f.x - 7, f.py(t) + 4, report::compact(t), "end");
  }
  for (const double t : f.across.ticks) {
    if (p.square)
      grid += concat("M", coordinate(f.px(t)), " ", coordinate(f.y), "v", coordinate(f.height));
    labels += text_at(f.px(t), f.y + f.height + 17, report::compact(t), "middle");
  }
  const double base =
      !f.up.scale.log && f.up.scale.low < 0 && f.up.scale.high > 0 ? 0 : f.up.scale.low;
  const std::string zero = p.square ? ""
                                    : concat("M", coordinate(f.x), " ", coordinate(f.py(base)), "h",
                                             coordinate(f.width));
  return path("grid", grid) + path("zero", zero) + labels +
         text_at(f.x + f.width, f.y + f.height + 33, p.x_label, "end") +
         text_at(f.x, f.y - 12, p.title + (f.up.scale.log ? " (log scale)" : ""), "start", "title");
}

std::string panel_svg(const Panel& p, double left, double top, const std::string& id) {
  const double side = p.square ? kWide - kLeft - kRight : kHigh;
  const Frame f{left + kLeft,
                top + kTop,
                kWide - kLeft - kRight,
                side,
                report::linear_axis(p.x_low, p.x_high, 5),
                vertical(p)};
  std::string out = axes(f, p);
  out += concat("<clipPath id=\"", id, "\"><rect x=\"", coordinate(f.x), "\" y=\"",
                coordinate(f.y - 2), "\" width=\"", coordinate(f.width), "\" height=\"",
                coordinate(f.height + 4), "\"/></clipPath>\n<g clip-path=\"url(#", id, ")\">\n");
  for (const Curve& c : p.curves)
    out += path("line " + report::curve_class(c.colour), line_path(f, c));
  out += "</g>\n";
  for (const Mark& m : p.marks) {
    if (m.dot)
      out += concat("<circle class=\"mark\" r=\"3.5\" cx=\"", coordinate(f.px(m.x)), "\" cy=\"",
                    coordinate(f.py(m.y)), "\"/>\n");
    out += text_at(f.px(m.x) + (m.dot ? 7 : 0), f.py(m.y) - (m.dot ? 6 : 0), m.text,
                   m.dot ? "start" : "middle", "name");
  }
  return out;
}

// Names of all panels' curves, each once, and the height that they take.
std::string legend_svg(const std::vector<Panel>& panels, double top, double width, double& height) {
  std::vector<const Curve*> named;
  for (const Panel& p : panels)
    for (const Curve& c : p.curves)
      if (!c.name.empty() && std::none_of(named.begin(), named.end(),
                                          [&](const Curve* n) { return n->name == c.name; }))
        named.push_back(&c);
  std::string out;
  double x = kLeft, y = top + 14;
  for (const Curve* c : named) {
    const double room = 46 + 7.2 * static_cast<double>(c->name.size());
    if (x + room > width && x > kLeft) x = kLeft, y += kLegendLine;
    out += path("line " + report::curve_class(c->colour),
                concat("M", coordinate(x), " ", coordinate(y - 4), "h24"));
    out += text_at(x + 30, y, c->name, "start", "name");
    x += room;
  }
  height = named.empty() ? 0 : y - top + 12;
  return out;
}

}  // namespace

std::string figure_svg(const std::string& title, const std::vector<Panel>& panels, size_t columns) {
  require(!panels.empty() && columns > 0, "[figure] there is nothing to draw");
  const bool square =
      std::any_of(panels.begin(), panels.end(), [](const Panel& p) { return p.square; });
  const double row = kTop + kBottom + (square ? kWide - kLeft - kRight : kHigh),
               width = kWide * static_cast<double>(std::min(columns, panels.size()));
  const size_t rows = (panels.size() + columns - 1) / columns;
  std::string body;
  for (size_t i = 0; i < panels.size(); ++i) {
    const size_t above = i / columns;
    body += panel_svg(panels[i], kWide * static_cast<double>(i % columns),
                      row * static_cast<double>(above), "panel" + std::to_string(i));
  }
  double legend = 0;
  body += legend_svg(panels, row * static_cast<double>(rows), width, legend);
  const double height = row * static_cast<double>(rows) + legend;
  const std::string size = concat(coordinate(width), "\" height=\"", coordinate(height));
  return concat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", coordinate(width), " ",
                coordinate(height), "\" width=\"", size,
                "\" role=\"img\" aria-labelledby=\"title\">\n<title id=\"title\">", escaped(title),
                "</title>\n<style>", kFigureStyle, "</style>\n<rect class=\"ground\" width=\"",
                size, "\"/>\n", body, "</svg>\n");
}

}  // namespace nine::app
