// The types of numbers in the files that Nine writes for other programs.
#pragma once

#include <cstdint>

#include "core/enum_names.h"

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

}  // namespace nine
