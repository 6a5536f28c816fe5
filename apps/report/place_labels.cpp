#include "apps/report/place_labels.h"

#include <algorithm>

namespace nine::app {
namespace {

// Pixels: a line of text, the gap between a point and its label, a point's radius.
constexpr double kTextHeight = 14, kGap = 5, kPoint = 3;

struct Box {
  double left, top, right, bottom;
  bool overlaps(const Box& b) const {
    return left < b.right && b.left < right && top < b.bottom && b.top < bottom;
  }
  bool inside(double width, double height) const {
    return left >= 0 && top >= 0 && right <= width && bottom <= height;
  }
};

Box label_box(const Place& p, double width, Side side) {
  switch (side) {
    case Side::right:
      return {p.x + kGap, p.y - kTextHeight / 2, p.x + kGap + width, p.y + kTextHeight / 2};
    case Side::left:
      return {p.x - kGap - width, p.y - kTextHeight / 2, p.x - kGap, p.y + kTextHeight / 2};
    case Side::above:
      return {p.x - width / 2, p.y - kGap - kTextHeight, p.x + width / 2, p.y - kGap};
    default:
      return {p.x - width / 2, p.y + kGap, p.x + width / 2, p.y + kGap + kTextHeight};
  }
}

Box text_box(const PlacedText& text) {
  const auto [x, y] = text.middle;
  return {x - text.width / 2, y - kTextHeight / 2, x + text.width / 2, y + kTextHeight / 2};
}

Box point_box(const Place& p) { return {p.x - kPoint, p.y - kPoint, p.x + kPoint, p.y + kPoint}; }

}  // namespace

std::vector<Side> place_labels(const std::vector<Place>& points, const std::vector<double>& widths,
                               double width, double height, const std::vector<Side>& wanted,
                               const std::vector<PlacedText>& texts) {
  std::vector<Side> sides(points.size(), Side::none);
  std::vector<Box> taken;
  for (const PlacedText& text : texts) taken.push_back(text_box(text));
  const auto is_free = [&](const Box& box) {
    return std::none_of(taken.begin(), taken.end(), [&](const Box& b) { return b.overlaps(box); });
  };
  for (size_t i = 0; i < points.size(); ++i) {
    const Box point = point_box(points[i]);
    if (!is_free(point)) continue;  // another point's label covers it
    for (const Side side : {Side::right, Side::left, Side::above, Side::below}) {
      if (!wanted.empty() && wanted[i] != side) continue;
      const Box box = label_box(points[i], widths[i], side);
      if (!box.inside(width, height) || !is_free(box)) continue;
      sides[i] = side;
      taken.push_back(box);
      taken.push_back(point);
      break;
    }
  }
  return sides;
}

}  // namespace nine::app
