#include "apps/svg/svg.h"

#include <cmath>

#include "apps/svg/text.h"
#include "core/error.h"

namespace nine::app {
namespace {

std::string opened(std::string_view name, const Attributes& attributes) {
  std::string out = concat("<", name);
  for (const auto& [key, value] : attributes) out += concat(" ", key, "=\"", value, "\"");
  return out;
}

}  // namespace

std::string element(std::string_view name, const Attributes& attributes) {
  return opened(name, attributes) + "/>";
}

std::string element(std::string_view name, const Attributes& attributes, std::string_view content) {
  return concat(opened(name, attributes), ">", content, "</", name, ">");
}

PathData& PathData::pair(char command, double x, double y) {
  text_ += command + coordinate(x) + ' ' + coordinate(y);
  return *this;
}

PathData& PathData::number(char command, double value) {
  text_ += command + coordinate(value);
  return *this;
}

std::string path(const std::string& classes, const PathData& data) {
  return element("path", {{"class", classes}, {"d", data.text()}}) + '\n';
}

std::string text_at(double x, double y, const std::string& content, const char* anchor,
                    const std::string& classes) {
  Attributes attributes{{"x", coordinate(x)}, {"y", coordinate(y)}, {"text-anchor", anchor}};
  if (!classes.empty()) attributes.emplace_back("class", classes);
  return element("text", attributes, escaped(content)) + '\n';
}

PathData curve_path(const PlotArea& area, const std::vector<Point>& points, LonePoint lone) {
  PathData data;
  const auto drawn = [&](size_t i) { return i < points.size() && std::isfinite(points[i].y); };
  for (size_t i = 0; i < points.size(); ++i) {
    if (!drawn(i)) continue;
    const bool begins = i == 0 || !drawn(i - 1);
    const double x = area.px(points[i].x), y = area.py(points[i].y);
    if (begins) {
      data.move_to(x, y);
      if (lone == LonePoint::dot && !drawn(i + 1)) data.dot();
    } else {
      data.line_to(x, y);
    }
  }
  return data;
}

PathData dots_path(const PlotArea& area, const std::vector<Point>& points) {
  PathData data;
  for (const Point& p : points)
    if (std::isfinite(p.y)) data.move_to(area.px(p.x), area.py(p.y)).dot();
  return data;
}

std::string swatch(const std::string& paths) {
  return element("svg", {{"class", "swatch"}, {"viewBox", "0 0 22 8"}, {"aria-hidden", "true"}},
                 paths);
}

std::string image(const Attributes& attributes, const ImageText& text, const std::string& content) {
  const auto id = [&](const char* part) {
    return text.id.empty() ? std::string(part) : concat(text.id, "-", part);
  };
  std::string names = id("title");
  std::string inside = '\n' + element("title", {{"id", names}}, text.title) + '\n';
  if (!text.description.empty()) {
    inside += element("desc", {{"id", id("desc")}}, text.description) + '\n';
    names += ' ' + id("desc");
  }
  Attributes all = attributes;
  all.emplace_back("role", "img");
  all.emplace_back("aria-labelledby", names);
  return element("svg", all, inside + content) + '\n';
}

}  // namespace nine::app
