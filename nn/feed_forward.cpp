#include "nn/feed_forward.h"

namespace nine {

FeedForward::FeedForward(ParameterSet& set, const std::string& name, int64_t size, int64_t inner,
                         Activation activation, const LinearInit& init,
                         const std::optional<LinearInit>& second_init, bool bias)
    : activation_(activation),
      linear1_(set, name + ".linear1", size, inner, bias, init),
      linear2_(set, name + ".linear2", inner, size, bias, second_init.value_or(init)),
      dropout_stream_("dropout." + name + ".linear2") {
  if (is_gated(activation)) linear3_.emplace(set, name + ".linear3", size, inner, bias, init);
}

Var FeedForward::between(const Var& x) const {
  switch (activation_) {
    case Activation::relu:
      return linear1_.relu(x);
    case Activation::gelu:
      return gelu(linear1_(x));
    case Activation::gelu_tanh:
      return gelu_tanh(linear1_(x));
    case Activation::silu:
      return silu(linear1_(x));
    case Activation::swiglu:
      return silu_gated(linear1_(x), (*linear3_)(x));
    case Activation::geglu:
      return gelu_gated(linear1_(x), (*linear3_)(x));
  }
  return {};
}

void FeedForward::pack(PackedWeights& packed) const {
  linear1_.pack(packed);
  linear2_.pack(packed);
  if (linear3_) linear3_->pack(packed);
}

}  // namespace nine
