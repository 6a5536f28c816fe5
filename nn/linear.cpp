#include "nn/linear.h"

#include "autograd/packed_weights.h"

namespace nine {

Linear::Linear(ParameterSet& set, const std::string& name, int64_t in, int64_t out, bool bias,
               const LinearInit& init)
    : weight_(set.add(name + ".weight", {out, in}, init.weight)) {
  if (bias) bias_ = &set.add(name + ".bias", {out}, init.bias.of_sizes(in, out));
}

Var Linear::operator()(const Var& x) const {
  Tape& tape = x.tape();
  return linear(x, tape.parameter(weight_), bias_ != nullptr ? tape.parameter(*bias_) : Var());
}

Var Linear::relu(const Var& x) const {
  Tape& tape = x.tape();
  return linear_relu(x, tape.parameter(weight_), tape.parameter(needed_bias()));
}

Var Linear::dropout_add(const Var& x, const Var& residual, double dropout,
                        std::string_view stream) const {
  Tape& tape = x.tape();
  return linear_bias_dropout_add(x, tape.parameter(weight_), tape.parameter(needed_bias()),
                                 residual, dropout, stream);
}

void Linear::pack(PackedWeights& packed) const {
  packed.add(weight_.value(), bias_ != nullptr ? bias_->value().view() : View{});
}

Parameter& Linear::needed_bias() const {
  require(bias_ != nullptr, "[Linear] '", weight_.name, "' has no bias, but this op adds a bias");
  return *bias_;
}

}  // namespace nine
