// Regularisers of the output layer: on the prior of a mixture and on the norms of word vectors.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "autograd/tape.h"
#include "core/enum_names.h"
#include "kernels/options/prior_penalty.h"

namespace nine {

/// A penalty on the prior over a mixture's components.
struct PriorRegulariser {
  ops::PriorPenalty kind = ops::PriorPenalty::variance;
  double strength = 0;  ///< rho >= 0; 0: no penalty
};
/// "variance:0.1", "cv2:0.01"; "" without a penalty.
std::string to_text(const PriorRegulariser& r);
/// Reads "variance:RHO" or "cv2:RHO"; "": no penalty. Error: a UsageError for any other text.
PriorRegulariser prior_regulariser_from_text(std::string_view text);

/// A penalty that keeps the word vectors' norms near nu (Herold et al., 2018).
struct NormRegulariser {
  enum class Kind : uint8_t {
    squared,  ///< rho sum_v (|w_v| - nu)^2
    root      ///< rho sqrt(sum_v (|w_v| - nu)^2)
  };
  Kind kind = Kind::squared;
  double strength = 0;  ///< rho >= 0; 0: no penalty
  double norm = 1;      ///< nu >= 0
};
template <>
inline constexpr EnumNames<NormRegulariser::Kind, 2> kEnumNames<NormRegulariser::Kind>{
    "weight-norm regulariser",
    {{{NormRegulariser::Kind::squared, "squared"}, {NormRegulariser::Kind::root, "root"}}}};
std::string to_text(const NormRegulariser& r);  ///< "squared:0.001,1"; "" without a penalty
/// Reads "squared:RHO,NU" or "root:RHO,NU"; "": no penalty. Error: a UsageError for any other text.
NormRegulariser norm_regulariser_from_text(std::string_view text);
/// Computes the penalty over the rows of all tensors of `w` together, word vectors (V, d) or (K, V,
/// d). Returns a float64 scalar. Its gradient is 0 where a row's norm or the root is 0. Error: `w`
/// is empty.
Var norm_penalty(std::span<const Var> w, const NormRegulariser& r);

}  // namespace nine
