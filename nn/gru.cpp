#include "nn/gru.h"

#include "autograd/gru.h"
#include "core/ops.h"

namespace nine {

Gru::Gru(ParameterSet& set, const std::string& name, int64_t input, int64_t hidden, int64_t layers,
         const LinearInit& init)
    : hidden_(hidden) {
  const Init weight = init.weight.of_sizes(hidden, 3 * hidden),
             bias = init.bias.of_sizes(hidden, 3 * hidden);
  for (int64_t l = 0; l < layers; ++l) {
    const std::string suffix = "_l" + std::to_string(l);
    Parameter& w_ih =
        set.add(concat(name, ".weight_ih", suffix), {3 * hidden, l == 0 ? input : hidden}, weight);
    Parameter& w_hh = set.add(concat(name, ".weight_hh", suffix), {3 * hidden, hidden}, weight);
    w_ih.linear_map = w_hh.linear_map = true;
    Parameter& b_ih = set.add(concat(name, ".bias_ih", suffix), {3 * hidden}, bias);
    Parameter& b_hh = set.add(concat(name, ".bias_hh", suffix), {3 * hidden}, bias);
    layers_.push_back({w_ih, w_hh, b_ih, b_hh, concat("dropout.", name, suffix)});
  }
}

Var Gru::operator()(const Var& x, std::vector<Var>& state, const Dropout& between) const {
  require(state.size() == layers_.size(), "[gru] ", state.size(), " states for ", layers_.size(),
          " layers");
  Tape& tape = x.tape();
  Var y = x;
  for (size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    const int64_t batch = state[l].shape().rows();
    if (l > 0) y = between(y, batch, layer.dropout_stream);
    const Var gates = linear(y, tape.parameter(layer.w_ih), tape.parameter(layer.b_ih));
    y = gru(gates, tape.parameter(layer.w_hh), tape.parameter(layer.b_hh), state[l]);
    state[l] = row_range(y, y.shape().rows() - batch, batch);
  }
  return y;
}

Var Gru::operator()(const Var& x, int64_t batch) const {
  std::vector<Var> state = zero_state(x.tape(), batch, x.dtype());
  return (*this)(x, state);
}

std::vector<Var> Gru::zero_state(Tape& tape, int64_t batch, DType dtype) const {
  const Tensor zeros = tape.arena().saved({batch, hidden_}, dtype);
  ops::fill(zeros, 0);
  return std::vector<Var>(layers_.size(), tape.constant(zeros));
}

}  // namespace nine
