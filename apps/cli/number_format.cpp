#include "apps/cli/number_format.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace nine::app {
namespace {

template <class... Values>
std::string printed(const char* format, Values... values) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, values...);
  return buffer.data();
}

std::string with_commas(int64_t n) {
  std::string digits = std::to_string(n);
  for (size_t i = digits.size(); i > 3 + (n < 0 ? 1u : 0u); i -= 3) digits.insert(i - 3, ",");
  return digits;
}

// From 99.95 on one decimal would be a fourth digit: 100.0K.
std::string three_digits(double x, char scale) {
  return printed(x < 99.95 ? "%.1f%c" : "%.0f%c", x, scale);
}

}  // namespace

std::string short_count(double n) {
  if (!std::isfinite(n)) return "?";
  if (n < 0) return "-" + short_count(-n);
  if (n < 99'999.5) return with_commas(std::llround(n));
  if (n < 999.5e3) return three_digits(n / 1e3, 'K');
  if (n < 999.5e6) return three_digits(n / 1e6, 'M');
  if (n < 999.5e9) return three_digits(n / 1e9, 'G');
  return three_digits(n / 1e12, 'T');
}

std::string short_rate(double n) {
  if (std::isfinite(n) && n >= 0 && n < 0.995) return printed("%.2g", n);
  if (std::isfinite(n) && n >= 0 && n < 9.95) return printed("%.1f", n);
  return short_count(n);
}

std::string short_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e15) return "?";
  if (seconds < 0.95) return printed("%.1fs", seconds);
  const auto s = static_cast<long long>(std::llround(seconds));
  if (s < 60) return printed("%llds", s);
  if (s < 3600) return printed("%lldm%02llds", s / 60, s % 60);
  if (s < 86400) return printed("%lldh%02lldm", s / 3600, s / 60 % 60);
  return printed("%lldd%02lldh", s / 86400, s / 3600 % 24);
}

}  // namespace nine::app
