// The feed-forward network of a Transformer layer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/enum_names.h"
#include "nn/linear.h"

namespace nine {

/// The function between the two linear maps.
enum class Activation : uint8_t {
  relu,
  gelu,      ///< x Phi(x), exact, as PyTorch's default gelu
  gelu_tanh  ///< GPT-2's approximation of gelu
};
template <>
inline constexpr EnumNames<Activation, 3> kEnumNames<Activation>{
    "activation",
    {{{Activation::relu, "relu"},
      {Activation::gelu, "gelu"},
      {Activation::gelu_tanh, "gelu-tanh"}}}};

/// Computes linear2(activation(linear1(x))) at each position (Vaswani et al., 2017, section 3.3).
/// The names are those of torch.nn.TransformerEncoderLayer: `NAME.linear1` maps from `size` to
/// `inner`, `NAME.linear2` maps back, and both have a bias. `init` gives the initial values of both
/// maps; `second_init`, where it is set, replaces it for linear2.
class FeedForward {
 public:
  FeedForward(ParameterSet& set, const std::string& name, int64_t size, int64_t inner,
              Activation activation = Activation::relu, const LinearInit& init = {},
              const std::optional<LinearInit>& second_init = {});

  /// Maps x (rows, size) to the same shape.
  Var operator()(const Var& x) const { return linear2_(between(x)); }
  /// Returns residual + dropout(feed-forward of x); the sum is fused with linear2. The dropout
  /// draws its random numbers from the stream "dropout.NAME.linear2".
  Var add_to(const Var& residual, const Var& x, double dropout) const {
    return linear2_.dropout_add(between(x), residual, dropout, dropout_stream_);
  }

  /// Adds packed copies of both maps' weights; see Linear::pack().
  void pack(PackedWeights& packed) const {
    linear1_.pack(packed);
    linear2_.pack(packed);
  }

 private:
  Var between(const Var& x) const;  // returns activation(linear1(x))

  Activation activation_;
  Linear linear1_, linear2_;
  std::string dropout_stream_;
};

}  // namespace nine
