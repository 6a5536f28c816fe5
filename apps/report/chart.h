// A chart of the report: curves over training steps, or another x, as inline SVG, with its labels
// in HTML.
#pragma once

#include <string>
#include <vector>

#include "apps/svg/curve.h"

namespace nine::app {

/// A horizontal line to compare curves with, such as the entropy of the text's source.
struct Reference {
  std::string name;
  double y = 0;
};

/// What a chart shows. Charts with the same `x_low` and `x_high` show a step in the same place.
struct Chart {
  std::string title;
  std::string note;  ///< what y is and in which unit
  std::vector<Curve> curves;
  std::vector<Reference> references;
  double x_low = 0, x_high = 1;
  std::string x_name = "step";  ///< charts of one name have their crosshair at the same x
  bool x_log = false;
  /// y starts at 0; otherwise it covers the values, on a logarithmic scale when they are positive
  /// and far apart.
  bool from_zero = false;
  bool large = false;  ///< as wide as the page, with the curves' names at their ends
};

/// True when any curve has a finite value.
bool has_values(const Chart& chart);

/// A short sample of the curve's line for legends and tables.
std::string swatch_html(size_t colour, bool dots);

/// The chart as a <figure>. `id` is unique on the page.
std::string chart_html(const Chart& chart, const std::string& id);

}  // namespace nine::app
