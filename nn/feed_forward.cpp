#include "nn/feed_forward.h"

namespace nine {

FeedForward::FeedForward(ParameterSet& set, const std::string& name, int64_t size, int64_t inner,
                         Activation activation, const LinearInit& init,
                         const std::optional<LinearInit>& second_init)
    : activation_(activation),
      linear1_(set, name + ".linear1", size, inner, true, init),
      linear2_(set, name + ".linear2", inner, size, true, second_init.value_or(init)),
      dropout_stream_("dropout." + name + ".linear2") {}

Var FeedForward::between(const Var& x) const {
  switch (activation_) {
    case Activation::relu:
      return linear1_.relu(x);
    case Activation::gelu:
      return gelu(linear1_(x));
    case Activation::gelu_tanh:
      return gelu_tanh(linear1_(x));
  }
  return {};
}

}  // namespace nine
