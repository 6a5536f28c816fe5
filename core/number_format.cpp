#include "core/number_format.h"

#include <array>
#include <charconv>
#include <cmath>

namespace nine {

std::string shortest(double value) {
  if (std::isnan(value)) return "nan";  // whatever its sign
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

std::string fixed(double value, int decimals) {
  if (std::isnan(value)) return "nan";
  std::string text(static_cast<size_t>(320 + decimals), ' ');  // 309 digits, sign and point
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::fixed, decimals)
                       .ptr;
  text.resize(static_cast<size_t>(end - text.data()));
  return text;
}

std::string power_of_e(double exponent, int decimals) {
  constexpr double kLong = 1e9;  // above it the digits do not matter
  const double power = std::exp(exponent);
  if (std::isinf(power) && std::isfinite(exponent)) return "e^" + fixed(exponent, 2);
  if (!(power >= kLong) || std::isinf(power)) return fixed(power, decimals);
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), power,
                                 std::chars_format::scientific, 5)
                       .ptr;
  return {buffer.data(), end};
}

}  // namespace nine
