// A margin on the target's angle, for training: the softmax scores the target as if the angle
// between its word vector and the context were larger (docs/margins.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/enum_names.h"

namespace nine {

/// The function psi, which in training replaces c = cos(theta) in the target's score F G c + b.
/// theta is the angle between the target's word vector, of norm F, and the context, of norm G
/// (head_norms.h).
struct Margin {
  enum class Kind : uint8_t {
    none,  ///< psi = c
    cos,   ///< c - m, m >= 0 (CosFace: Wang et al., 2018)
    /// cos(theta + m), 0 <= m < pi (ArcFace: Deng et al., 2019). For theta > pi - m: c - m sin m,
    /// as in ArcFace's program.
    arc,
    /// (-1)^k cos(m theta) - 2k for theta in [k pi/m, (k+1) pi/m], m an integer from 1 to 64
    /// (L-Softmax: Liu et al., 2016).
    lsm
  };
  Kind kind = Kind::none;
  double size = 0;  ///< m; for `arc` in radians

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
/// The m at which 1 - cos m - m sin m is 0. At theta = pi - m, psi of `arc` jumps by this
/// expression. For larger m the jump is upwards, so that the loss rewards some larger angles.
inline constexpr double kArcJumpsUp = 2.331122370414423;

std::string to_text(const Margin& m);  ///< "cos:0.2"; "none"
/// Reads "none", "cos:M", "arc:M" or "lsm:M". Error: a UsageError for any other text.
Margin margin_from_text(std::string_view text);

}  // namespace nine
