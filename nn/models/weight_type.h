// The types of numbers in the files that Nine writes for other programs.
#pragma once

#include <cstdint>
#include <string>

#include "core/enum_names.h"
#include "core/tensor.h"

namespace nine {

/// The type of a file's matrices.
enum class WeightType : uint8_t {
  float32,
  float16,
  bfloat16,
  q8_0  ///< of GGUF: 32 numbers of a row share a float16 factor, and each has 8 bits
};
template <>
inline constexpr EnumNames<WeightType, 4> kEnumNames<WeightType>{
    "type of weights",
    {{{WeightType::float32, "float32"},
      {WeightType::float16, "float16"},
      {WeightType::bfloat16, "bfloat16"},
      {WeightType::q8_0, "q8_0"}}}};

/// Returns the tensor itself if it is of float32, else a copy in float32.
Tensor in_float32(const Tensor& tensor);

/// Error, which names the tensor: a matrix of float32 whose numbers are all so small that the type
/// would round them to 0 or to a few digits. Vectors are added to larger numbers and may be small.
void require_digits(const std::string& name, const Tensor& tensor, WeightType type);

/// Return the bits of the nearest number of the type. Error, which names the tensor: a finite
/// number that the type does not hold.
uint16_t checked_half(const std::string& tensor, float x);
uint16_t checked_bfloat16(const std::string& tensor, float x);

}  // namespace nine
