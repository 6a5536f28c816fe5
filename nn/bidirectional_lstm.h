// Stacked LSTM layers that read a sequence in both directions.
#pragma once

#include <string>
#include <vector>

#include "nn/lstm.h"

namespace nine {

/// Stacked layers of two LSTMs (Schuster & Paliwal, 1997), as torch.nn.LSTM with
/// bidirectional=True: the parameters of Lstm for the forward direction, and the same with
/// `_reverse` at their ends for the backward direction. A layer's output has the forward and the
/// backward states side by side, so that layers l1, l2, ... have 2H inputs.
class BidirectionalLstm {
 public:
  BidirectionalLstm(ParameterSet& set, const std::string& name, int64_t input, int64_t hidden,
                    int64_t layers = 1, const LinearInit& init = {});

  int64_t layers() const { return static_cast<int64_t>(layers_.size()); }
  int64_t hidden() const { return hidden_; }

  /// Takes x (steps * batch, input), row t * batch + b, and returns (steps * batch, 2 hidden); both
  /// directions start from states of zeros. `lengths` (batch, int32, on the CPU): the steps of each
  /// sequence before its padding, as torch's packed sequences; empty: no padding. The backward
  /// direction then starts at a sequence's last step, and rows of padding have undefined outputs.
  /// Applies `between` to the input of each layer but the first. Errors: `batch` does not divide
  /// the rows; a length outside of [1, steps].
  Var operator()(const Var& x, int64_t batch, const Tensor& lengths = {},
                 const Dropout& between = {}) const;
  /// Returns the states after reading whole sequences (batch, 2 hidden): of the forward direction
  /// after the last step, of the backward direction after the first step. y is the result of the
  /// call above, with the same `batch` and `lengths`.
  Var final_states(const Var& y, int64_t batch, const Tensor& lengths = {}) const;

 private:
  struct Direction {
    Parameter &w_ih, &w_hh, &b_ih, &b_hh;
  };
  struct Layer {
    Direction forward, backward;
    std::string dropout_stream;  // the stream of the mask on this layer's input
  };
  Var run(const Direction& d, const Var& x, int64_t batch) const;

  std::vector<Layer> layers_;
  int64_t hidden_;
};

}  // namespace nine
