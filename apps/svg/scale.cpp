#include "apps/svg/scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace nine::app {
namespace {

// The quotient of the largest and the smallest value from which on an axis is logarithmic.
constexpr double kLogFrom = 8;
constexpr int kValueTicks = 5;
constexpr double kRoomAbove = 0.06;
constexpr double kTiny = 1e-305, kHuge = 1e305;

std::vector<double> linear_ticks(double low, double high, int wanted) {
  const double raw = (high - low) / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double lead = raw / power;
  const double step = power * (lead < 1.5 ? 1 : lead < 3 ? 2 : lead < 7 ? 5 : 10);
  std::vector<double> ticks;
  // Ticks are multiples of the step: the sum 0.1 + 0.1 + ... drifts, and a small step added to a
  // huge value may not change it.
  const double first = std::ceil(low / step - 1e-9);
  for (int i = 0; i <= 2 * wanted + 2 && (first + i) * step <= high + 1e-9 * step; ++i)
    ticks.push_back((first + i) * step);
  return ticks;
}

std::vector<double> log_ticks(const Scale& s) {
  static const std::array<std::vector<double>, 3> kLeads{{{1}, {1, 3}, {1, 2, 5}}};
  const int first = static_cast<int>(std::floor(std::log10(s.low)));
  const int last = static_cast<int>(std::ceil(std::log10(s.high)));
  const double decades = std::log10(s.high) - std::log10(s.low);
  const auto& leads = kLeads[decades > 4 ? 0 : decades > 2.6 ? 1 : 2];
  const int every = std::max(1, static_cast<int>(std::ceil(decades / 8)));
  std::vector<double> ticks;
  for (int e = first; e <= last; e += every)
    for (const double lead : leads)
      if (const double tick = lead * std::pow(10.0, e);
          tick >= s.low * 0.999 && tick <= s.high * 1.001)
        ticks.push_back(tick);
  return ticks;
}

}  // namespace

double Scale::at(double value) const {
  const double place =
      log ? (std::log(std::max(value, kTiny)) - std::log(low)) / (std::log(high) - std::log(low))
          : (value - low) / (high - low);
  return std::clamp(place, -1.0, 2.0);
}

Axis linear_axis(double low, double high, int wanted) {
  if (!(high > low)) high = low + std::max(1.0, std::fabs(low) * 1e-3);
  return {{low, high, false}, linear_ticks(low, high, wanted)};
}

Axis value_axis(double low, double high, bool from_zero, double below) {
  if (from_zero && low >= 0) return linear_axis(0, high > 0 ? high * 1.08 : 1, kValueTicks);
  if (low > 0 && high / low > kLogFrom) {
    const double range = std::log(high) - std::log(low);  // log(high / low) could overflow
    const Scale scale{std::max(std::exp(std::log(low) - below * range), kTiny),
                      std::min(std::exp(std::log(high) + kRoomAbove * range), kHuge), true};
    return {scale, log_ticks(scale)};
  }
  // A constant gets an axis around it.
  const double range = high > low ? high - low : std::max(std::fabs(high) * 0.5, 1e-6);
  return linear_axis(low - below * range, high + kRoomAbove * range, kValueTicks);
}

}  // namespace nine::app
