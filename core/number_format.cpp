#include "core/number_format.h"

#include <array>
#include <charconv>
#include <cmath>

namespace nine {

std::string shortest(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

std::string fixed(double value, int decimals) {
  std::array<char, 400> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::fixed, decimals)
                       .ptr;
  return {buffer.data(), end};
}

std::string power_of_e(double exponent, int decimals) {
  const double power = std::exp(exponent);
  return std::isinf(power) && std::isfinite(exponent) ? "e^" + fixed(exponent, 2)
                                                      : fixed(power, decimals);
}

}  // namespace nine
