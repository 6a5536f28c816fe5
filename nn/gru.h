// Stacked GRU layers.
#pragma once

#include <string>
#include <vector>

#include "autograd/functions.h"
#include "nn/dropout.h"
#include "nn/parameters.h"

namespace nine {

/// Stacked GRU layers as in torch.nn.GRU; ops::GruCell has the formula. For input size I and hidden
/// size H the parameters are `NAME.weight_ih_l0` (3H, I), `NAME.weight_hh_l0` (3H, H),
/// `NAME.bias_ih_l0` and `NAME.bias_hh_l0` (3H), then the same with I = H for l1, l2, ... The gates
/// are stacked in the order r, z, n. By default all parameters start as U(-1/sqrt(H), 1/sqrt(H)).
/// An `init` that depends on sizes treats each weight as a map from H to 3H numbers.
class Gru {
 public:
  Gru(ParameterSet& set, const std::string& name, int64_t input, int64_t hidden, int64_t layers = 1,
      const LinearInit& init = {});

  int64_t layers() const { return static_cast<int64_t>(layers_.size()); }
  int64_t hidden() const { return hidden_; }

  /// Takes x (steps * batch, input), row t * batch + b, and in `state` one initial state (batch,
  /// hidden) for each layer. Returns the last layer's outputs (steps * batch, hidden). Replaces
  /// `state` by the states after the last step. Applies `between` to the input of each layer but
  /// the first. Error: the number of states is not the number of layers.
  Var operator()(const Var& x, std::vector<Var>& state, const Dropout& between = {}) const;
  /// Does the same from states of zeros, without dropout between the layers.
  Var operator()(const Var& x, int64_t batch) const;
  /// Returns a state of zeros for each layer, valid until the tape's reset().
  std::vector<Var> zero_state(Tape& tape, int64_t batch, DType dtype) const;

 private:
  struct Layer {
    Parameter &w_ih, &w_hh, &b_ih, &b_hh;
    std::string dropout_stream;  // the stream of the mask on this layer's input
  };
  std::vector<Layer> layers_;
  int64_t hidden_;
};

}  // namespace nine
