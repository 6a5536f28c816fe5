// Labels for the points of a picture, none of which covers another.
#pragma once

#include <cstdint>
#include <vector>

namespace nine::app {

/// A place in the plane.
struct Place {
  double x = 0, y = 0;
};

/// One line of text that is already in a picture.
struct PlacedText {
  Place middle;
  double width = 0;
};

/// Where a label stands relative to its point.
enum class Side : uint8_t { none, right, left, above, below };

/// A side for the label of each point, in the points' order: the first one at which the label lies
/// inside the picture and covers no earlier label, no labelled point and none of `texts`;
/// Side::none when there is no such side. Places and `widths` of the labels are in pixels of a
/// picture of width x height. `wanted`: one side a point, the only one to try; empty: any side.
std::vector<Side> place_labels(const std::vector<Place>& points, const std::vector<double>& widths,
                               double width, double height, const std::vector<Side>& wanted,
                               const std::vector<PlacedText>& texts = {});

}  // namespace nine::app
