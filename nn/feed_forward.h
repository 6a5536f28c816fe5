// The feed-forward network of a Transformer layer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/enum_names.h"
#include "nn/linear.h"

namespace nine {

/// The function between the linear maps.
enum class Activation : uint8_t {
  relu,
  gelu,       ///< x Phi(x), exact, as PyTorch's default gelu
  gelu_tanh,  ///< GPT-2's approximation of gelu
  silu,       ///< x sigmoid(x)
  swiglu,     ///< silu(linear1(x)) linear3(x): gated, with a third map
  geglu       ///< gelu(linear1(x)) linear3(x)
};
template <>
inline constexpr EnumNames<Activation, 6> kEnumNames<Activation>{
    "activation",
    {{{Activation::relu, "relu"},
      {Activation::gelu, "gelu"},
      {Activation::gelu_tanh, "gelu-tanh"},
      {Activation::silu, "silu"},
      {Activation::swiglu, "swiglu"},
      {Activation::geglu, "geglu"}}}};

/// True if a network with this activation has a third linear map.
constexpr bool is_gated(Activation a) { return a == Activation::swiglu || a == Activation::geglu; }

/// Computes linear2(activation(linear1(x))) at each position (Vaswani et al., 2017, section 3.3)
/// or, with a gated activation, linear2(f(linear1(x)) * linear3(x)) (Shazeer, 2020). The names of
/// the first two maps are those of torch.nn.TransformerEncoderLayer: `NAME.linear1` maps from
/// `size` to `inner`, `NAME.linear2` maps back. `NAME.linear3`, from `size` to `inner`, is Llama's
/// up_proj, and linear1 its gate_proj. All have a bias if `bias` is true. `init` gives the initial
/// values of all maps; `second_init`, where it is set, replaces it for linear2.
class FeedForward {
 public:
  FeedForward(ParameterSet& set, const std::string& name, int64_t size, int64_t inner,
              Activation activation = Activation::relu, const LinearInit& init = {},
              const std::optional<LinearInit>& second_init = {}, bool bias = true);

  /// Maps x (rows, size) to the same shape.
  Var operator()(const Var& x) const { return linear2_(between(x)); }
  /// Returns residual + dropout(feed-forward of x); the sum is fused with linear2. The dropout
  /// draws its random numbers from the stream "dropout.NAME.linear2".
  Var add_to(const Var& residual, const Var& x, double dropout) const {
    return linear2_.dropout_add(between(x), residual, dropout, dropout_stream_);
  }

  /// Adds packed copies of the maps' weights; see Linear::pack().
  void pack(PackedWeights& packed) const;

 private:
  Var between(const Var& x) const;  // returns linear2's input

  Activation activation_;
  Linear linear1_, linear2_;
  std::optional<Linear> linear3_;
  std::string dropout_stream_;
};

}  // namespace nine
