// Stacked LSTM layers.
#pragma once

#include <string>
#include <vector>

#include "autograd/functions.h"
#include "nn/dropout.h"
#include "nn/parameters.h"

namespace nine {

/// torch.nn.LSTM: `NAME.weight_ih_l0` (4H, I), `NAME.weight_hh_l0` (4H, H), `NAME.bias_ih_l0` and
/// `NAME.bias_hh_l0` (4H), then the same for l1, ... The gates are stacked in the order i, f, g, o.
/// All parameters start as U(-1/sqrt(H), 1/sqrt(H)) unless told otherwise; an `init` that depends
/// on sizes counts each weight as a map from H to 4H numbers.
class Lstm {
 public:
  Lstm(ParameterSet& set, const std::string& name, int64_t input, int64_t hidden,
       int64_t layers = 1, const LinearInit& init = {});

  int64_t layers() const { return static_cast<int64_t>(layers_.size()); }
  int64_t hidden() const { return hidden_; }

  /// x (steps * batch, input), rows in time order, from one state a layer. Returns the last layer's
  /// outputs (steps * batch, hidden); `state` becomes the states after the last step. `between` is
  /// applied to the input of each layer but the first. Error: not one state a layer.
  Var operator()(const Var& x, std::vector<LstmState>& state, const Dropout& between = {}) const;
  /// The same from states of zeros, for whole sequences.
  Var operator()(const Var& x, int64_t batch) const;
  /// States of zeros of `batch` columns, one a layer, in the tape's pool.
  std::vector<LstmState> zero_state(Tape& tape, int64_t batch, DType dtype) const;

 private:
  struct Layer {
    Parameter &w_ih, &w_hh, &b_ih, &b_hh;
    std::string dropout_stream;  // of the mask on its input
  };
  std::vector<Layer> layers_;
  int64_t hidden_;
};

}  // namespace nine
