// How a model that reads longer texts than it was first trained on scales its rotary angles.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/enum_names.h"

namespace nine {

/// The kinds of scaled angles.
enum class RotaryScalingKind : uint8_t { none, linear, llama3 };
template <>
inline constexpr EnumNames<RotaryScalingKind, 3> kEnumNames<RotaryScalingKind>{
    "rotary scaling",
    {{{RotaryScalingKind::none, "none"},
      {RotaryScalingKind::linear, "linear"},
      {RotaryScalingKind::llama3, "llama3"}}}};

/// Scaled rotary angles. Linear (Chen et al., 2023): each angle is divided by `factor`. Llama 3.1's
/// (Dubey et al., 2024): an angle with a wavelength (2 pi / frequency) of more than length / low
/// positions is divided by `factor`; one of less than length / high positions stays; between both,
/// the frequency is f (1 - s) / factor + f s, with s = (length / wavelength - low) / (high - low).
struct RotaryScaling {
  RotaryScalingKind kind = RotaryScalingKind::none;
  double factor = 1;
  double low = 1, high = 4;  ///< of llama3
  int64_t length = 8192;     ///< of llama3: the positions of the first training

  bool operator==(const RotaryScaling&) const = default;

  /// Returns the number by which the angles of a pair with this frequency (radians a position) are
  /// divided.
  double divisor(double frequency) const;
  /// Reads "none", "linear:8" or "llama3:factor=8,low=1,high=4,length=8192". Error: another text; a
  /// key twice; a factor below 1 or above 1e6; low and high that are not 0 < low < high; a length
  /// below 1.
  static RotaryScaling from_text(std::string_view text);
};
/// Returns the text that from_text() reads.
std::string to_text(const RotaryScaling& scaling);

}  // namespace nine
