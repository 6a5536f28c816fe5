// Axes: where values lie along them, and the round numbers that get a label.
#pragma once

#include <vector>

namespace nine::app {

/// Maps low..high to 0..1, linearly or by logarithm.
struct Scale {
  double low = 0, high = 1;
  bool log = false;

  /// The place of `value`, clamped a little outside of 0..1 so that coordinates stay printable.
  double at(double value) const;
};

/// A scale with the values that get a label.
struct Axis {
  Scale scale;
  std::vector<double> ticks;
};

/// low..high as given, with about `wanted` round ticks inside.
Axis linear_axis(double low, double high, int wanted);

/// An axis for values between `low` and `high` with some room around them: from zero, logarithmic
/// when all are positive and they range over a factor of more than 8, linear otherwise. `below` is
/// the room under `low`, as a share of the range.
Axis value_axis(double low, double high, bool from_zero, double below = 0.07);

}  // namespace nine::app
