// The penalties on the prior of a mixture.
#pragma once

#include <cstdint>

#include "core/enum_names.h"

namespace nine {

namespace ops {
/// A penalty on uneven priors pi of a mixture. Var_k is the mean squared deviation over the K
/// components. Rows without a target do not count.
enum class PriorPenalty : uint8_t {
  variance,  ///< the mean over rows of Var_k(pi_k)
  cv2        ///< Var_k(s) / mean_k(s)^2, s_k = sum over rows of pi_k (after Takase et al., 2018)
};
}  // namespace ops

template <>
inline constexpr EnumNames<ops::PriorPenalty, 2> kEnumNames<ops::PriorPenalty>{
    "prior regulariser",
    {{{ops::PriorPenalty::variance, "variance"}, {ops::PriorPenalty::cv2, "cv2"}}}};

}  // namespace nine
