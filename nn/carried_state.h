// The state that a recurrent model carries from one segment of a text to the next.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "core/safetensors.h"

namespace nine {

/// Holds the states h and c, each (batch, hidden), of every LSTM layer. A network without LSTM
/// layers has no tensors here. The state owns its memory, because the tensors of a tape are freed
/// after the step.
class CarriedState {
 public:
  /// Makes a state of zeros.
  CarriedState(int64_t layers, int64_t batch, int64_t hidden, DType dtype, Device device = kCpu);
  CarriedState(const CarriedState&) = delete;  // a copy would share the memory; use copy_from()
  CarriedState& operator=(const CarriedState&) = delete;
  CarriedState(CarriedState&&) = default;
  CarriedState& operator=(CarriedState&&) = default;

  /// Sets everything to zero.
  void clear();
  /// Replaces `state` by h and c of each layer, as constants on the tape, so that no gradient flows
  /// into the past.
  void on(Tape& tape, std::vector<LstmState>& state) const { on(tape, state, 0, batch()); }
  /// Does the same for the columns [first, first + count) only. Column b is row b of each h and c:
  /// the state of batch element b.
  void on(Tape& tape, std::vector<LstmState>& state, int64_t first, int64_t count) const;
  /// Copies `state`, the states after a step's last time step (one per layer), into the columns
  /// from `first` on. Error: another number of layers or another shape.
  void store(const std::vector<LstmState>& state, int64_t first = 0);
  /// Copies h and c of `other`. Error: another number of layers or another shape.
  void copy_from(const CarriedState& other);

  /// Replaces column i by column from[i], for all i. If from[i] is -1, the new column i is
  /// unspecified. Error: not one element of `from` for each column.
  void reorder(std::span<const int32_t> from);

  int64_t batch() const { return batch_; }
  /// Returns the state's tensors for a checkpoint: "PREFIXh_l0", "PREFIXc_l0", "PREFIXh_l1", ...
  std::vector<NamedView> named(const std::string& prefix) const;
  /// Copies the tensors with the names of named(). Error: a tensor is missing or has another shape.
  void load(const Safetensors& file, const std::string& prefix);
  /// Copies a part of a wider state: the columns [first, first + batch()) of tensors that have
  /// `columns` columns. Errors: as above.
  void load(const Safetensors& file, const std::string& prefix, int64_t first, int64_t columns);

 private:
  int64_t batch_;
  std::vector<Tensor> h_, c_;  // one per layer
};

}  // namespace nine
