// The state that a recurrent model carries from one segment of a text to the next.
#pragma once

#include <string>
#include <vector>

#include "autograd/functions.h"
#include "core/safetensors.h"

namespace nine {

/// h and c, each (batch, hidden), for each LSTM layer; nothing for a network without such layers.
/// They have memory of their own, because the tensors of a tape are freed after its step.
class CarriedState {
 public:
  /// A state of zeros.
  CarriedState(int64_t layers, int64_t batch, int64_t hidden, DType dtype, Device device = kCpu);
  CarriedState(const CarriedState&) = delete;  // a copy would share the memory: copy_from()
  CarriedState& operator=(const CarriedState&) = delete;
  CarriedState(CarriedState&&) = default;
  CarriedState& operator=(CarriedState&&) = default;

  /// Sets everything to zero.
  void clear();
  /// Puts the state on a tape, as constants, into `state`: no gradient flows into the past.
  void on(Tape& tape, std::vector<LstmState>& state) const { on(tape, state, 0, batch()); }
  /// The same of columns [first, first + count).
  void on(Tape& tape, std::vector<LstmState>& state, int64_t first, int64_t count) const;
  /// Copies the states after a step's last time step, one a layer, into columns `first` and
  /// following. Error: another number of layers, here and below, or another shape.
  void store(const std::vector<LstmState>& state, int64_t first = 0);
  void copy_from(const CarriedState& other);

  int64_t batch() const { return batch_; }
  /// For checkpoints: "PREFIXh_l0", "PREFIXc_l0", "PREFIXh_l1", ...
  std::vector<NamedView> named(const std::string& prefix) const;
  /// Copies tensors of those names. Error: one is missing or of another shape.
  void load(const Safetensors& file, const std::string& prefix);
  /// Copies columns `first` and following of tensors of those names, which have `columns` columns.
  void load(const Safetensors& file, const std::string& prefix, int64_t first, int64_t columns);

 private:
  int64_t batch_;
  std::vector<Tensor> h_, c_;  // of each layer
};

}  // namespace nine
