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
  gelu,      ///< x Phi(x), exact: PyTorch's gelu
  gelu_tanh  ///< GPT-2's approximation of it
};
template <>
inline constexpr EnumNames<Activation, 3> kEnumNames<Activation>{
    "activation",
    {{{Activation::relu, "relu"},
      {Activation::gelu, "gelu"},
      {Activation::gelu_tanh, "gelu-tanh"}}}};

/// linear2(activation(linear1(x))) at each position (Vaswani et al., 2017, section 3.3), with
/// torch.nn.TransformerEncoderLayer's names: `NAME.linear1` from `size` to `inner`, `NAME.linear2`
/// back, both with a bias. Both start as `init` says, unless `second_init` does of linear2.
class FeedForward {
 public:
  FeedForward(ParameterSet& set, const std::string& name, int64_t size, int64_t inner,
              Activation activation = Activation::relu, const LinearInit& init = {},
              const std::optional<LinearInit>& second_init = {});

  /// x (rows, size) to the same shape.
  Var operator()(const Var& x) const { return linear2_(between(x)); }
  /// residual + dropout(the above), the sum fused with linear2. The dropout's random numbers are
  /// those of the stream "dropout.NAME.linear2".
  Var add_to(const Var& residual, const Var& x, double dropout) const {
    return linear2_.dropout_add(between(x), residual, dropout, dropout_stream_);
  }

 private:
  Var between(const Var& x) const;  // activation(linear1(x))

  Activation activation_;
  Linear linear1_, linear2_;
  std::string dropout_stream_;
};

}  // namespace nine
