#include "apps/report/chart.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "apps/report/scale.h"
#include "apps/report/text.h"
#include "core/error.h"

namespace nine::report {
namespace {

// The drawing's own units. The SVG is stretched to its box (strokes are not), labels are HTML
// around it: so a phone gets the same chart in readable type, which scaling a drawing with its text
// would not give.
constexpr double kWidth = 1000, kHeight = 300;
constexpr double kRoomBelow = 0.07,
                 kRoomForLabel =
                     0.15;  // a reference's label stands under its line, where no curve goes
constexpr int kStepTicks = 5;
constexpr size_t kEndLabels = 8;      // more names at the lines' ends would crowd
constexpr size_t kEndLetters = 22;    // longer names stand in the legend, whole
constexpr double kEndDistance = 6.5;  // per cent of a large plot's height: a line of text

struct Layout {
  Axis x, y;
  double px(double v) const { return kWidth * x.scale.at(v); }
  double py(double v) const { return kHeight * (1 - y.scale.at(v)); }
  std::string left(double v) const { return "left:" + coordinate(100 * x.scale.at(v)) + "%"; }
  std::string top(double v) const { return "top:" + coordinate(100 * (1 - y.scale.at(v))) + "%"; }
};

const Point* last_finite(const Curve& curve) {
  const auto found = std::find_if(curve.points.rbegin(), curve.points.rend(),
                                  [](const Point& p) { return std::isfinite(p.y); });
  return found == curve.points.rend() ? nullptr : &*found;
}

Layout layout_of(const Chart& chart) {
  double low = INFINITY, high = -INFINITY;
  const auto cover = [&](double y) {
    if (std::isfinite(y)) low = std::min(low, y), high = std::max(high, y);
  };
  for (const Curve& curve : chart.curves)
    for (const Point& p : curve.points) cover(p.y);
  for (const Reference& r : chart.references) cover(r.y);
  return {linear_axis(chart.x_low, chart.x_high, kStepTicks),
          value_axis(low, high, chart.from_zero,
                     chart.references.empty() ? kRoomBelow : kRoomForLabel)};
}

std::string pair_text(const Layout& l, const Point& p) {
  return coordinate(l.px(p.x)) + " " + coordinate(l.py(p.y));
}

// A new subpath after each gap; a lone point is drawn as a zero-length line, which round caps make
// a dot.
std::string line_path(const Layout& l, const std::vector<Point>& points) {
  std::string d;
  bool open = false;
  for (size_t i = 0; i < points.size(); ++i) {
    if (!std::isfinite(points[i].y)) {
      open = false;
      continue;
    }
    d += (open ? "L" : "M") + pair_text(l, points[i]);
    const bool alone = !open && (i + 1 == points.size() || !std::isfinite(points[i + 1].y));
    if (alone) d += "h0";
    open = true;
  }
  return d;
}

std::string dots_path(const Layout& l, const std::vector<Point>& points) {
  std::string d;
  for (const Point& p : points)
    if (std::isfinite(p.y)) d += "M" + pair_text(l, p) + "h0";
  return d;
}

std::string path(const std::string& classes, const std::string& d) {
  return "<path class=\"" + classes + "\" d=\"" + d + "\"/>\n";
}

std::string grid_svg(const Layout& l) {
  std::string d;
  for (const double tick : l.y.ticks)
    d += "M0 " + coordinate(l.py(tick)) + "H" + coordinate(kWidth);
  return path("grid", d);
}

std::string curve_svg(const Layout& l, const Curve& curve) {
  const std::string colour = curve_class(curve.colour);
  std::string out =
      path((curve.dots ? "line strong " : "line ") + colour, line_path(l, curve.points));
  // Dots of more validations than fit would be a thick smear.
  if (curve.dots && curve.points.size() <= 60) {
    const std::string d = dots_path(l, curve.points);
    out += path("halo", d) + path("dot " + colour, d);
  }
  return out;
}

std::string extent_text(const Curve& curve) {
  const auto finite = [](const Point& p) { return std::isfinite(p.y); };
  const auto first = std::find_if(curve.points.begin(), curve.points.end(), finite);
  const Point* last = last_finite(curve);
  if (last == nullptr) return curve.name + ": no finite values.";
  Point low = *first, high = *first;
  for (const Point& p : curve.points) {
    if (finite(p) && p.y < low.y) low = p;
    if (finite(p) && p.y > high.y) high = p;
  }
  const auto spoken = [](const Point& p) { return figure(p.y) + " at step " + count(p.x); };
  return concat(curve.name, ": from ", spoken(*first), " to ", spoken(*last), "; lowest ",
                spoken(low), ", highest ", spoken(high), ".");
}

std::string description(const Chart& chart, const Layout& l) {
  std::string text =
      "Line chart over steps" + std::string(l.y.scale.log ? " on a logarithmic scale." : ".");
  for (const Curve& curve : chart.curves) text += " " + extent_text(curve);
  for (const Reference& r : chart.references) text += " " + r.name + " at " + figure(r.y) + ".";
  return text;
}

std::string svg(const Chart& chart, const Layout& l, const std::string& id) {
  std::string out = concat("<svg viewBox=\"0 0 ", coordinate(kWidth), " ", coordinate(kHeight),
                           "\" preserveAspectRatio=\"none\" role=\"img\" aria-labelledby=\"", id,
                           "-title ", id, "-desc\">\n<title id=\"", id, "-title\">",
                           escaped(chart.title), "</title>\n<desc id=\"", id, "-desc\">",
                           escaped(description(chart, l)), "</desc>\n", grid_svg(l));
  for (const Reference& r : chart.references)
    out += path("reference", "M0 " + coordinate(l.py(r.y)) + "H" + coordinate(kWidth));
  for (const bool strong : {false, true})  // the few validations lie over the many training values
    for (const Curve& curve : chart.curves)
      if (curve.dots == strong) out += curve_svg(l, curve);
  return out + "</svg>\n";
}

std::string reference_labels(const Chart& chart, const Layout& l) {
  std::string out;
  for (const Reference& r : chart.references)
    out += "<span class=\"reference-label\" aria-hidden=\"true\" style=\"" + l.top(r.y) + "\">" +
           escaped(r.name) + " " + figure(r.y) + "</span>";
  return out;
}

std::string y_labels(const Layout& l) {
  std::string out = "<div class=\"ys\" aria-hidden=\"true\">";
  for (const double tick : l.y.ticks)
    out += "<span style=\"" + l.top(tick) + "\">" + compact(tick) + "</span>";
  return out + "</div>\n";
}

std::string x_labels(const Layout& l) {
  std::string out = "<div class=\"xs\" aria-hidden=\"true\">";
  for (const double tick : l.x.ticks)
    out += "<span style=\"" + l.left(tick) + "\">" + compact(tick) + "</span>";
  return out + "<em>step</em></div>\n";
}

// Pushes labels apart that would overlap, keeping their order and staying inside 0..100.
std::vector<double> spread(const std::vector<double>& wanted, double distance) {
  std::vector<size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return wanted[a] < wanted[b]; });
  std::vector<double> placed = wanted;
  for (size_t i = 1; i < order.size(); ++i)
    placed[order[i]] = std::max(placed[order[i]], placed[order[i - 1]] + distance);
  double limit = 100;
  for (size_t i = order.size(); i-- > 0; limit = placed[order[i]] - distance)
    placed[order[i]] = std::min(placed[order[i]], limit);
  return placed;
}

bool named_at_ends(const Chart& chart) {
  const auto fits = [](const Curve& curve) { return curve.name.size() <= kEndLetters; };
  return chart.large && chart.curves.size() <= kEndLabels &&
         std::all_of(chart.curves.begin(), chart.curves.end(), fits);
}

// Names and last values at the lines' ends; small charts of one curve show just the value.
std::string end_labels(const Chart& chart, const Layout& l) {
  if (!named_at_ends(chart) && chart.curves.size() > 1) return {};
  std::vector<const Curve*> curves;
  std::vector<double> tops;
  for (const Curve& curve : chart.curves) {
    const Point* last = last_finite(curve);
    if (last == nullptr) continue;
    curves.push_back(&curve);
    tops.push_back(100 * (1 - l.y.scale.at(last->y)));
  }
  const std::vector<double> placed = spread(tops, kEndDistance);
  std::string out = "<div class=\"ends\" aria-hidden=\"true\">";
  for (size_t i = 0; i < curves.size(); ++i) {
    const double value = last_finite(*curves[i])->y;
    out += concat("<span class=\"", curve_class(curves[i]->colour),
                  "\" style=\"top:", coordinate(placed[i]), "%\"><b>",
                  chart.large ? figure(value) : compact(value), "</b>",
                  chart.large ? " " + escaped(curves[i]->name) : std::string(), "</span>");
  }
  return out + "</div>\n";
}

std::string legend(const Chart& chart) {
  if (chart.curves.size() < 2) return {};
  std::string out = "<ul class=\"legend\">";
  for (const Curve& curve : chart.curves) {
    const Point* last = last_finite(curve);
    out += concat("<li class=\"", curve_class(curve.colour), "\">",
                  swatch_html(curve.colour, curve.dots), escaped(curve.name));
    if (last != nullptr) out += " <b>" + figure(last->y) + "</b>";
    out += "</li>";
  }
  return out + "</ul>\n";
}

// The column of the names at the lines' ends, as wide as the longest needs; the style sheet bounds
// it.
std::string ends_width(const Chart& chart) {
  size_t longest = 0;
  for (const Curve& curve : chart.curves) longest = std::max(longest, curve.name.size());
  return concat(" style=\"--ends:", std::min(longest, kEndLetters) + 10, "ch\"");
}

// What the page's script shows at the crosshair.
std::string data_json(const Chart& chart, const Layout& l) {
  const auto numbers = [](const Curve& curve, double Point::*part) {
    std::string out;
    for (const Point& p : curve.points)
      out += (out.empty() ? "" : ",") + json_number(p.*part, part == &Point::x ? 15 : 7);
    return "[" + out + "]";
  };
  std::string series;
  for (const Curve& curve : chart.curves)
    series +=
        concat(series.empty() ? "" : ",\n", "{\"name\":", json_string(curve.name), ",\"class\":\"",
               curve_class(curve.colour), "\",\"x\":", numbers(curve, &Point::x),
               ",\"y\":", numbers(curve, &Point::y), "}");
  const auto range = [](const Scale& s) {
    return "[" + json_number(s.low, 15) + "," + json_number(s.high, 15) + "]";
  };
  return concat("{\"xs\":", range(l.x.scale), ",\"ys\":", range(l.y.scale),
                ",\"log\":", l.y.scale.log, ",\"series\":[", series, "]}");
}

Chart with_thinned_curves(Chart chart) {
  for (Curve& curve : chart.curves) curve.points = thinned(curve.points);
  return chart;
}

}  // namespace

bool has_values(const Chart& chart) {
  return std::any_of(chart.curves.begin(), chart.curves.end(),
                     [](const Curve& c) { return last_finite(c) != nullptr; });
}

std::string curve_class(size_t colour) {
  const std::string base = "c" + std::to_string(colour % kColours);
  const size_t lap = colour / kColours;
  return lap == 0 ? base : base + " dash" + std::to_string(lap % 3);
}

std::string swatch_html(size_t colour, bool dots) {
  const std::string classes = curve_class(colour);
  std::string out = "<svg class=\"swatch\" viewBox=\"0 0 22 8\" aria-hidden=\"true\">" +
                    path((dots ? "line strong " : "line ") + classes, "M1 4H21");
  if (dots && colour < kColours)
    out += path("dot " + classes, "M11 4h0");  // it would hide the dashes
  return out + "</svg>";
}

std::string chart_html(const Chart& chart, const std::string& id) {
  const Chart thin = with_thinned_curves(chart);
  const Layout l = layout_of(thin);
  const std::string classes =
      concat("chart", thin.large ? " large" : "", named_at_ends(thin) ? " ended" : "",
             thin.curves.size() > 1 ? " many" : "");
  const std::string note = thin.note + (l.y.scale.log ? ", log scale" : "");
  return concat("<figure class=\"", classes, "\" id=\"", id, "\">\n<figcaption><h3>",
                escaped(thin.title), "</h3><p>", escaped(note), "</p></figcaption>\n", legend(thin),
                "<div class=\"frame\"", ends_width(thin), ">\n", y_labels(l),
                "<div class=\"plot\">\n", svg(thin, l, id), reference_labels(thin, l), "</div>\n",
                end_labels(thin, l), x_labels(l), "</div>\n<script type=\"application/json\">",
                data_json(thin, l), "</script>\n</figure>\n");
}

}  // namespace nine::report
