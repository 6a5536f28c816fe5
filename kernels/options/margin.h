// A margin on the target's angle, for training: the softmax has to score the target as if its word
// vector were further from the context than it is (docs/margins.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/enum_names.h"

namespace nine {

/// psi, which takes the place of c = cos(theta) in the target's score F G c + b, where theta is the
/// angle between the target's word vector and the context.
struct Margin {
  enum class Kind : uint8_t {
    none,  ///< psi = c
    cos,   ///< c - m, m >= 0 (CosFace: Wang et al., 2018)
    /// cos(theta + m), 0 <= m < pi (ArcFace: Deng et al., 2019); where theta > pi - m, c - m sin m,
    /// as in ArcFace's program.
    arc,
    /// (-1)^k cos(m theta) - 2k for theta in [k pi/m, (k+1) pi/m], m an integer from 1 to 64
    /// (L-Softmax: Liu et al., 2016).
    lsm
  };
  Kind kind = Kind::none;
  double size = 0;  ///< m

  explicit operator bool() const { return kind != Kind::none; }
  friend bool operator==(const Margin&, const Margin&) = default;
};
template <>
inline constexpr EnumNames<Margin::Kind, 4> kEnumNames<Margin::Kind>{
    "margin",
    {{{Margin::Kind::none, "none"},
      {Margin::Kind::cos, "cos"},
      {Margin::Kind::arc, "arc"},
      {Margin::Kind::lsm, "lsm"}}}};
/// From this m on psi of `arc` jumps upwards at theta = pi - m, by 1 - cos m - m sin m: the
/// solution of that expression = 0.
inline constexpr double kArcJumpsUp = 2.331122370414423;

std::string to_text(const Margin& m);  ///< "cos:0.2"; "none"
/// Reads "none", "cos:M", "arc:M" or "lsm:M"; a UsageError says what is wrong.
Margin margin_from_text(std::string_view text);

}  // namespace nine
