// The norms of a Transformer.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "core/enum_names.h"
#include "nn/layer_norm.h"

namespace nine {

/// Divides rows by the root of their mean square: x / sqrt(mean of x^2 + eps) * weight, over the
/// last dimension (Zhang & Sennrich, 2019). `NAME.weight` (size) starts at 1.
class RmsNorm {
 public:
  RmsNorm(ParameterSet& set, const std::string& name, int64_t size, double eps = LayerNorm::kEps)
      : weight_(set.add(name + ".weight", {size}, Init::ones())), eps_(eps) {}

  /// Normalises x (..., size); returns the same shape. If the last dimension is k * size, each of
  /// its k parts is normalised on its own.
  Var operator()(const Var& x) const { return rms_norm(x, x.tape().parameter(weight_), eps_); }

 private:
  Parameter& weight_;
  double eps_;
};

/// The kinds of a Transformer's norms.
enum class NormType : uint8_t {
  layer,  ///< LayerNorm
  rms     ///< RmsNorm
};
template <>
inline constexpr EnumNames<NormType, 2> kEnumNames<NormType>{
    "norm type", {{{NormType::layer, "layer"}, {NormType::rms, "rms"}}}};

/// True if norms of this kind have the parameter `NAME.bias`.
constexpr bool has_bias(NormType type) { return type != NormType::rms; }

/// A norm of any kind.
class Norm {
 public:
  Norm(ParameterSet& set, const std::string& name, int64_t size, NormType type = NormType::layer,
       double eps = LayerNorm::kEps)
      : norm_(make(set, name, size, type, eps)) {}

  /// Normalises x (..., size); returns the same shape.
  Var operator()(const Var& x) const {
    return std::visit([&](const auto& norm) { return norm(x); }, norm_);
  }

 private:
  using Any = std::variant<LayerNorm, RmsNorm>;
  static Any make(ParameterSet& set, const std::string& name, int64_t size, NormType type,
                  double eps) {
    switch (type) {
      case NormType::layer:
        break;
      case NormType::rms:
        return RmsNorm(set, name, size, eps);
    }
    return LayerNorm(set, name, size, eps);
  }

  Any norm_;
};

}  // namespace nine
