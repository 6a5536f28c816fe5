#include "nn/layers.h"

#include <cmath>

#include "core/ops.h"

namespace nine {

Linear::Linear(ParameterSet& set, const std::string& name, int64_t in, int64_t out, bool bias)
    : weight_(set.add(name + ".weight", {out, in},
                      Init::uniform(1 / std::sqrt(static_cast<double>(in))))) {
  if (bias)
    bias_ = &set.add(name + ".bias", {out}, Init::uniform(1 / std::sqrt(static_cast<double>(in))));
}

Var Linear::operator()(const Var& x) const {
  Tape& tape = x.tape();
  return linear(x, tape.parameter(weight_), bias_ != nullptr ? tape.parameter(*bias_) : Var());
}

Lstm::Lstm(ParameterSet& set, const std::string& name, int64_t input, int64_t hidden,
           int64_t layers)
    : hidden_(hidden) {
  const Init init = Init::uniform(1 / std::sqrt(static_cast<double>(hidden)));
  for (int64_t l = 0; l < layers; ++l) {
    const std::string suffix = "_l" + std::to_string(l);
    Parameter& w_ih =
        set.add(concat(name, ".weight_ih", suffix), {4 * hidden, l == 0 ? input : hidden}, init);
    Parameter& w_hh = set.add(concat(name, ".weight_hh", suffix), {4 * hidden, hidden}, init);
    Parameter& b_ih = set.add(concat(name, ".bias_ih", suffix), {4 * hidden}, init);
    Parameter& b_hh = set.add(concat(name, ".bias_hh", suffix), {4 * hidden}, init);
    layers_.push_back({w_ih, w_hh, b_ih, b_hh, concat("dropout.", name, suffix)});
  }
}

Var Lstm::operator()(const Var& x, std::vector<LstmState>& state, const Dropout& between) const {
  require(state.size() == layers_.size(), "[lstm] ", state.size(), " states for ", layers_.size(),
          " layers");
  Tape& tape = x.tape();
  Var y = x;
  for (size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    if (l > 0) y = between(y, state[l].h.shape().rows(), layer.dropout_stream);
    const LstmOutput out = lstm(y,
                                {tape.parameter(layer.w_ih), tape.parameter(layer.w_hh),
                                 tape.parameter(layer.b_ih), tape.parameter(layer.b_hh)},
                                state[l]);
    state[l] = out.last;
    y = out.y;
  }
  return y;
}

Var Lstm::operator()(const Var& x, int64_t batch) const {
  Tape& tape = x.tape();
  const Tensor zeros = tape.arena().saved({batch, hidden_}, x.dtype());
  ops::fill(zeros, 0);
  const Var zero = tape.constant(zeros);
  std::vector<LstmState> state(layers_.size(), {zero, zero});
  return (*this)(x, state);
}

CarriedState::CarriedState(int64_t layers, int64_t batch, int64_t hidden, DType dtype,
                           Device device) {
  for (int64_t l = 0; l < layers; ++l) {
    h_.emplace_back(Shape{batch, hidden}, dtype, device);
    c_.emplace_back(Shape{batch, hidden}, dtype, device);
  }
}

void CarriedState::clear() {
  for (size_t l = 0; l < h_.size(); ++l) {
    ops::fill(h_[l], 0);
    ops::fill(c_[l], 0);
  }
}

void CarriedState::on(Tape& tape, std::vector<LstmState>& state) const {
  state.clear();
  for (size_t l = 0; l < h_.size(); ++l)
    state.push_back({tape.constant(h_[l]), tape.constant(c_[l])});
}

void CarriedState::store(const std::vector<LstmState>& state) {
  for (size_t l = 0; l < h_.size(); ++l) {
    ops::copy(state[l].h.value(), h_[l]);
    ops::copy(state[l].c.value(), c_[l]);
  }
}

void CarriedState::copy_from(const CarriedState& other) {
  for (size_t l = 0; l < h_.size(); ++l) {
    ops::copy(other.h_[l], h_[l]);
    ops::copy(other.c_[l], c_[l]);
  }
}

std::vector<NamedView> CarriedState::named(const std::string& prefix) const {
  std::vector<NamedView> out;
  for (size_t l = 0; l < h_.size(); ++l) {
    out.push_back({concat(prefix, "h_l", l), h_[l]});
    out.push_back({concat(prefix, "c_l", l), c_[l]});
  }
  return out;
}

void CarriedState::load(const Safetensors& file, const std::string& prefix) {
  for (const NamedView& part : named(prefix)) {
    const Tensor& stored = file.at(part.name);
    require(stored.shape() == part.view.shape, "the carried state '", part.name, "' has shape ",
            stored.shape(), ", expected ", part.view.shape);
    ops::copy(stored, part.view);
  }
}

}  // namespace nine
