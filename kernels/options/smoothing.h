// Label smoothing of the output layer's targets (Szegedy et al., 2016).
#pragma once

#include <cstdint>

#include "core/enum_names.h"

namespace nine {

/// Label smoothing of strength epsilon, in one of the two usual conventions. V is the size of the
/// vocabulary.
struct LabelSmoothing {
  enum class Kind : uint8_t {
    uniform,  ///< epsilon / V to every word; to the target 1 - epsilon in addition
    others    ///< epsilon / (V - 1) to every other word, 1 - epsilon to the target
  };
  double epsilon = 0;  ///< in [0, 1]; 0: no smoothing
  Kind kind = Kind::uniform;

  /// Returns the probability that every word except the target gets. Errors: epsilon outside of [0,
  /// 1]; `others` with one word.
  double spread(int64_t words) const;
};
template <>
inline constexpr EnumNames<LabelSmoothing::Kind, 2> kEnumNames<LabelSmoothing::Kind>{
    "smoothing",
    {{{LabelSmoothing::Kind::uniform, "uniform"}, {LabelSmoothing::Kind::others, "others"}}}};

}  // namespace nine
