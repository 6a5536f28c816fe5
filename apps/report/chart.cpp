#include "apps/report/chart.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "apps/report/downsample.h"
#include "apps/svg/svg.h"
#include "apps/svg/text.h"
#include "core/error.h"

namespace nine::app {
namespace {

// The drawing's own units. The SVG is stretched to its box, while its strokes keep their width and
// the labels are HTML around it. So a phone shows the same chart with type of a readable size;
// scaling a drawing that contains its text would shrink the type too.
constexpr double kWidth = 1000, kHeight = 300;
// Room under the lowest value, as a share of the range; a reference's label stands under its line.
constexpr double kRoomBelow = 0.07, kRoomForLabel = 0.15;
constexpr int kStepTicks = 5;
constexpr size_t kMaxDots = 60;       // dots of more validations would run into each other
constexpr size_t kEndLabels = 8;      // the most names that fit at the lines' ends
constexpr size_t kEndLetters = 22;    // longer names go into the legend
constexpr double kEndDistance = 6.5;  // a line of text, in per cent of a large plot's height

PlotArea area_of(const Chart& chart) {
  ValueRange range = value_range(chart.curves);
  for (const Reference& r : chart.references)
    if (std::isfinite(r.y)) range = {std::min(range.low, r.y), std::max(range.high, r.y)};
  const double below = chart.references.empty() ? kRoomBelow : kRoomForLabel;
  return {.width = kWidth,
          .height = kHeight,
          .x = chart.x_log ? value_axis(chart.x_low, chart.x_high, false)
                           : linear_axis(chart.x_low, chart.x_high, kStepTicks),
          .y = value_axis(range.low, range.high, chart.from_zero, below)};
}

// Places of labels, in per cent of the plot.
double percent_from_top(const PlotArea& area, double y) { return 100 * (1 - area.y.scale.at(y)); }
std::string left_css(const PlotArea& area, double x) {
  return "left:" + coordinate(100 * area.x.scale.at(x)) + "%";
}
std::string top_css(double percent) { return "top:" + coordinate(percent) + "%"; }

PathData line_across(const PlotArea& area, double y) {
  return PathData().move_to(0, area.py(y)).horizontal_to(area.width);
}

std::string grid_svg(const PlotArea& area) {
  PathData lines;
  for (const double tick : area.y.ticks) lines.move_to(0, area.py(tick)).horizontal_to(area.width);
  return path("grid", lines);
}

std::string line_classes(size_t colour, bool strong) {
  return (strong ? "line strong " : "line ") + curve_class(colour);
}

std::string curve_svg(const PlotArea& area, const Curve& curve) {
  if (curve.scattered)
    return path("scatter " + curve_class(curve.colour), dots_path(area, curve.points));
  std::string out =
      path(line_classes(curve.colour, curve.dots), curve_path(area, curve.points, LonePoint::dot));
  if (curve.dots && curve.points.size() <= kMaxDots) {
    const PathData dots = dots_path(area, curve.points);
    out += path("halo", dots) + path("dot " + curve_class(curve.colour), dots);
  }
  return out;
}

// Elsewhere the last value is not the latest one, and of no interest by itself.
bool over_steps(const Chart& chart) { return chart.x_name == "step"; }

std::string extent_text(const Curve& curve, const std::string& x_name) {
  const auto finite = [](const Point& p) { return std::isfinite(p.y); };
  const auto first = std::find_if(curve.points.begin(), curve.points.end(), finite);
  const Point* last = last_finite(curve);
  if (last == nullptr) return curve.name + ": no finite values.";
  Point low = *first, high = *first;
  for (const Point& p : curve.points) {
    if (finite(p) && p.y < low.y) low = p;
    if (finite(p) && p.y > high.y) high = p;
  }
  const auto value_at_step = [&](const Point& p) {
    return concat(figure(p.y), " at ", x_name, " ", count(p.x));
  };
  return concat(curve.name, ": from ", value_at_step(*first), " to ", value_at_step(*last),
                "; lowest ", value_at_step(low), ", highest ", value_at_step(high), ".");
}

std::string description(const Chart& chart, const PlotArea& area) {
  std::string text = concat("Chart over ", over_steps(chart) ? "steps" : chart.x_name,
                            area.y.scale.log ? " on a logarithmic scale." : ".");
  for (const Curve& curve : chart.curves) text += " " + extent_text(curve, chart.x_name);
  for (const Reference& r : chart.references) text += " " + r.name + " at " + figure(r.y) + ".";
  return text;
}

std::string curves_svg(const Chart& chart, const PlotArea& area, const std::string& id) {
  std::string content = grid_svg(area);
  for (const Reference& r : chart.references) content += path("reference", line_across(area, r.y));
  // Curves with dots, the validations, are drawn last, above those of training.
  for (const bool strong : {false, true})
    for (const Curve& curve : chart.curves)
      if (curve.dots == strong) content += curve_svg(area, curve);
  return image(
      {{"viewBox", concat("0 0 ", coordinate(kWidth), " ", coordinate(kHeight))},
       {"preserveAspectRatio", "none"}},
      {.id = id, .title = escaped(chart.title), .description = escaped(description(chart, area))},
      content);
}

std::string reference_labels(const Chart& chart, const PlotArea& area) {
  std::string out;
  for (const Reference& r : chart.references)
    out += element("span",
                   {{"class", "reference-label"},
                    {"aria-hidden", "true"},
                    {"style", top_css(percent_from_top(area, r.y))}},
                   escaped(r.name) + " " + figure(r.y));
  return out;
}

std::string y_labels(const PlotArea& area) {
  std::string labels;
  for (const double tick : area.y.ticks)
    labels += element("span", {{"style", top_css(percent_from_top(area, tick))}}, compact(tick));
  return element("div", {{"class", "ys"}, {"aria-hidden", "true"}}, labels) + '\n';
}

std::string x_labels(const PlotArea& area, const std::string& name) {
  std::string labels;
  for (const double tick : area.x.ticks)
    labels += element("span", {{"style", left_css(area, tick)}}, compact(tick));
  return element("div", {{"class", "xs"}, {"aria-hidden", "true"}},
                 labels + element("em", {}, escaped(name))) +
         '\n';
}

// Moves labels apart that would overlap. They keep their order and stay inside 0..100.
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
std::string end_labels(const Chart& chart, const PlotArea& area) {
  if (!over_steps(chart)) return {};
  if (!named_at_ends(chart) && chart.curves.size() > 1) return {};
  std::vector<const Curve*> curves;
  std::vector<double> tops;
  for (const Curve& curve : chart.curves) {
    const Point* last = last_finite(curve);
    if (last == nullptr) continue;
    curves.push_back(&curve);
    tops.push_back(percent_from_top(area, last->y));
  }
  const std::vector<double> placed = spread(tops, kEndDistance);
  std::string labels;
  for (size_t i = 0; i < curves.size(); ++i) {
    const double value = last_finite(*curves[i])->y;
    labels +=
        element("span", {{"class", curve_class(curves[i]->colour)}, {"style", top_css(placed[i])}},
                element("b", {}, chart.large ? figure(value) : compact(value)) +
                    (chart.large ? " " + isolated(curves[i]->name) : std::string()));
  }
  return element("div", {{"class", "ends"}, {"aria-hidden", "true"}}, labels) + '\n';
}

std::string legend(const Chart& chart) {
  if (chart.curves.size() < 2) return {};
  std::string items;
  for (const Curve& curve : chart.curves) {
    const Point* last = over_steps(chart) ? last_finite(curve) : nullptr;
    const std::string sample =
        curve.scattered
            ? swatch(path("scatter " + curve_class(curve.colour), PathData().move_to(11, 4).dot()))
            : swatch_html(curve.colour, curve.dots);
    // Beside a value the name is seen only where the page's script makes no legend of all charts.
    items += element(
        "li", {{"class", curve_class(curve.colour)}},
        sample + (last == nullptr ? isolated(curve.name)
                                  : element("span", {{"class", "of"}}, isolated(curve.name)) + " " +
                                        element("b", {}, figure(last->y))));
  }
  return element("ul", {{"class", "legend"}}, items) + '\n';
}

// The width of the column of names at the lines' ends, from the longest name; the style sheet
// limits it.
std::string ends_width(const Chart& chart) {
  size_t longest = 0;
  for (const Curve& curve : chart.curves) longest = std::max(longest, curve.name.size());
  return concat("--ends:", std::min(longest, kEndLetters) + 10, "ch");
}

std::string numbers_json(const Curve& curve, double Point::*part, int digits) {
  std::string out;
  for (const Point& p : curve.points)
    out += (out.empty() ? "" : ",") + json_number(p.*part, digits);
  return "[" + out + "]";
}

std::string range_json(const Scale& s) {
  return "[" + json_number(s.low, 15) + "," + json_number(s.high, 15) + "]";
}

// The values that the page's script shows at the crosshair.
std::string data_json(const Chart& chart, const PlotArea& area) {
  std::string series;
  for (const Curve& curve : chart.curves)
    series +=
        concat(series.empty() ? "" : ",\n", "{\"name\":", json_string(curve.name), ",\"class\":\"",
               curve_class(curve.colour), "\",\"dots\":", curve.dots,
               ",\"scattered\":", curve.scattered, ",\"x\":", numbers_json(curve, &Point::x, 15),
               ",\"y\":", numbers_json(curve, &Point::y, 7), "}");
  std::string references;
  for (const Reference& r : chart.references)
    references += concat(references.empty() ? "" : ",", "{\"name\":", json_string(r.name),
                         ",\"y\":", json_number(r.y, 15), "}");
  return concat("{\"xs\":", range_json(area.x.scale), ",\"ys\":", range_json(area.y.scale),
                ",\"log\":", area.y.scale.log, ",\"x_log\":", area.x.scale.log,
                ",\"x_name\":", json_string(chart.x_name), ",\"references\":[", references,
                "],\"series\":[", series, "]}");
}

Chart with_downsampled_curves(Chart chart) {
  for (Curve& curve : chart.curves) curve.points = downsampled(curve.points);
  return chart;
}

}  // namespace

bool has_values(const Chart& chart) {
  return std::any_of(chart.curves.begin(), chart.curves.end(),
                     [](const Curve& c) { return last_finite(c) != nullptr; });
}

std::string swatch_html(size_t colour, bool dots) {
  std::string paths = path(line_classes(colour, dots), PathData().move_to(1, 4).horizontal_to(21));
  if (dots && colour < kColours)  // a dot would hide the dashes of further colours
    paths += path("dot " + curve_class(colour), PathData().move_to(11, 4).dot());
  return swatch(paths);
}

std::string chart_html(const Chart& full_chart, const std::string& id) {
  const Chart chart = with_downsampled_curves(full_chart);
  const PlotArea area = area_of(chart);
  const std::string classes =
      concat("chart", chart.large ? " large" : "", named_at_ends(chart) ? " ended" : "",
             chart.curves.size() > 1 ? " many" : "");
  const std::string note = chart.note + (area.y.scale.log ? ", log scale" : "");
  return concat("<figure class=\"", classes, "\" id=\"", id, "\">\n<figcaption><h3>",
                escaped(chart.title), "</h3><p>", escaped(note), "</p></figcaption>\n",
                legend(chart), "<div class=\"frame\" style=\"", ends_width(chart), "\">\n",
                y_labels(area), "<div class=\"plot\">\n", curves_svg(chart, area, id),
                reference_labels(chart, area), "</div>\n", end_labels(chart, area),
                x_labels(area, chart.x_name), "</div>\n<script type=\"application/json\">",
                data_json(chart, area), "</script>\n</figure>\n");
}

}  // namespace nine::app
