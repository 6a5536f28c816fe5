// Types of the library as values of flags.
#pragma once

#include "apps/cli/option_field.h"
#include "core/dtype.h"
#include "nn/rotary_scaling.h"
#include "nn/training/training_length.h"

namespace nine::app {

/// 10e, 300Ku, 20Mt.
template <>
struct TextForm<TrainingLength> {
  static constexpr const char* kPlaceholder = "AMOUNT";
  static constexpr const char* kValid = "an amount such as 10e, 300Ku, 20Mt";
  static std::vector<std::string> choices() { return {}; }
  static TrainingLength from_text(std::string_view text) { return training_length_from_text(text); }
};

/// none, linear:8, llama3:factor=8,low=1,high=4,length=8192.
template <>
struct TextForm<RotaryScaling> {
  static constexpr const char* kPlaceholder = "SCALING";
  static constexpr const char* kValid = "none, linear:FACTOR or llama3:factor=FACTOR";
  static std::vector<std::string> choices() { return {}; }
  static RotaryScaling from_text(std::string_view text) { return RotaryScaling::from_text(text); }
};

/// The types that weights may have.
template <>
struct TextForm<DType> {
  static constexpr const char* kPlaceholder = "TEXT";
  static constexpr const char* kValid = "a text";
  static std::vector<std::string> choices() { return {"float32", "float64"}; }
  static DType from_text(std::string_view text) { return dtype_from_text(text); }
};

}  // namespace nine::app
