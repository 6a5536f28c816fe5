#include "nn/linear.h"

#include "autograd/packed_weights.h"

namespace nine {

Linear::Linear(ParameterSet& set, const std::string& name, int64_t in, int64_t out, bool bias,
               const LinearInit& init)
    : weight_(set.add(name + ".weight", {out, in}, init.weight)) {
  weight_.linear_map = true;
  if (bias) bias_ = &set.add(name + ".bias", {out}, init.bias.of_sizes(in, out));
}

Var Linear::operator()(const Var& x) const {
  Tape& tape = x.tape();
  return linear(x, tape.parameter(weight_), bias_on(tape));
}

Var Linear::relu(const Var& x) const {
  if (bias_ == nullptr) return nine::relu((*this)(x));
  Tape& tape = x.tape();
  return linear_relu(x, tape.parameter(weight_), bias_on(tape));
}

Var Linear::dropout_add(const Var& x, const Var& residual, double dropout,
                        std::string_view stream) const {
  Tape& tape = x.tape();
  return linear_bias_dropout_add(x, tape.parameter(weight_), bias_on(tape), residual, dropout,
                                 stream);
}

void Linear::pack(PackedWeights& packed) const {
  packed.add(weight_.value(), bias_ != nullptr ? bias_->value().view() : View{});
}

}  // namespace nine
