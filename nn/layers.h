// Layers: parameters with PyTorch's names, shapes and initialisation, and their forward function.
#pragma once

#include <string>
#include <vector>

#include "autograd/functions.h"
#include "nn/parameters.h"

namespace nine {

/// A table of word vectors, `NAME.weight` (count, size). Starts as N(0, 0.02) (formats.md), where
/// PyTorch has N(0, 1).
class Embedding {
 public:
  Embedding(ParameterSet& set, const std::string& name, int64_t count, int64_t size)
      : weight_(set.add(name + ".weight", {count, size}, Init::normal(0.02))) {}
  Var operator()(Tape& tape, const Tensor& ids) const {
    return embedding(tape.parameter(weight_), ids);
  }
  Parameter& weight() const { return weight_; }

 private:
  Parameter& weight_;
};

/// y = x w' + b: `NAME.weight` (out, in) and `NAME.bias` (out), both U(-1/sqrt(in), 1/sqrt(in)) as
/// in torch.nn.Linear.
class Linear {
 public:
  Linear(ParameterSet& set, const std::string& name, int64_t in, int64_t out, bool bias = true);
  Var operator()(const Var& x) const;

 private:
  Parameter& weight_;
  Parameter* bias_ = nullptr;
};

/// `NAME.weight` = 1 and `NAME.bias` = 0, of the last dimension's size.
class LayerNorm {
 public:
  LayerNorm(ParameterSet& set, const std::string& name, int64_t size, double eps = 1e-5)
      : weight_(set.add(name + ".weight", {size}, Init::ones())),
        bias_(set.add(name + ".bias", {size}, Init::zeros())),
        eps_(eps) {}
  Var operator()(const Var& x) const {
    return layer_norm(x, x.tape().parameter(weight_), x.tape().parameter(bias_), eps_);
  }

 private:
  Parameter &weight_, &bias_;
  double eps_;
};

/// Dropout of probability p on rows in time order (steps * batch, width); `locked`: one mask a
/// sequence and unit for all time steps of the segment (variational dropout; Gal & Ghahramani,
/// 2016).
struct Dropout {
  double p = 0;
  bool locked = false;

  Var operator()(const Var& x, int64_t batch, std::string_view stream) const {
    return dropout(x, p, stream, locked ? batch : 0);
  }
};

/// Stacked LSTM layers: `NAME.weight_ih_l0` (4H, I), `weight_hh_l0` (4H, H), `bias_ih_l0`,
/// `bias_hh_l0` (4H), ...; gates i f g o; all U(-1/sqrt(H), 1/sqrt(H)) as in torch.nn.LSTM.
class Lstm {
 public:
  Lstm(ParameterSet& set, const std::string& name, int64_t input, int64_t hidden, int64_t layers);

  int64_t layers() const { return static_cast<int64_t>(layers_.size()); }
  int64_t hidden() const { return hidden_; }

  /// x (steps * batch, input) in time order; one state a layer. Returns the last layer's outputs;
  /// `state` becomes the states after the last step. `between` drops units of what one layer hands
  /// to the next.
  Var operator()(const Var& x, std::vector<LstmState>& state, const Dropout& between = {}) const;
  /// The same from a state of zeros, for sequences that are whole.
  Var operator()(const Var& x, int64_t batch) const;

 private:
  struct Layer {
    Parameter &w_ih, &w_hh, &b_ih, &b_hh;
    std::string dropout_stream;  // of the mask on its input
  };
  std::vector<Layer> layers_;
  int64_t hidden_;
};

/// The state that a recurrent model carries from one segment of text to the next: owned, outside of
/// the step's pool.
class CarriedState {
 public:
  /// Zero, for `layers` layers of (batch, hidden).
  CarriedState(int64_t layers, int64_t batch, int64_t hidden, DType dtype, Device device = kCpu);

  void clear();
  /// As values on a tape, into `state`; no gradient flows into the past.
  void on(Tape& tape, std::vector<LstmState>& state) const;
  /// Copies a step's last states.
  void store(const std::vector<LstmState>& state);
  void copy_from(const CarriedState& other);

  int64_t batch() const { return h_.front().shape().rows(); }
  /// For checkpoints: "PREFIXh_l0", "PREFIXc_l0", ...
  std::vector<NamedView> named(const std::string& prefix) const;
  void load(const Safetensors& file, const std::string& prefix);

 private:
  std::vector<Tensor> h_, c_;
};

}  // namespace nine
