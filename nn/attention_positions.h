// Positions inside of attention: what every kind of them has in common.
#pragma once

#include <cstdint>
#include <mutex>

#include "autograd/tape.h"
#include "core/tensor.h"

namespace nine {

/// Positions that a layer's attention puts into its queries and keys. A subclass is a kind of
/// positions, such as rotary angles: fill() computes the `width` numbers that stand for a position,
/// such as cosines and sines, and placed() changes queries and keys by them.
/// TransformerLayerConfig::make_positions() makes the object, which all layers of a model share.
class AttentionPositions {
 public:
  virtual ~AttentionPositions() = default;
  AttentionPositions(const AttentionPositions&) = delete;
  AttentionPositions& operator=(const AttentionPositions&) = delete;

  /// Returns the numbers of all positions: (count, width). Computes the table at the first call, in
  /// float64, and rounds it to `dtype`. Error: another dtype or device than at the first call.
  const Tensor& table(DType dtype, Device device) const;
  /// Returns the rows of positions first, first + 1, ..., first + steps - 1: (steps, width). Error:
  /// more positions than there are.
  Tensor rows(int64_t first, int64_t steps, DType dtype, Device device) const;

  /// Returns x (sequences * steps, n) with positions in its queries and keys, which are the first
  /// `columns` columns; values follow. rows: (steps, width), of the steps of each sequence.
  virtual Var placed(const Var& x, const Tensor& rows, int64_t columns) const = 0;

 protected:
  /// For positions below `count` with `width` numbers each.
  AttentionPositions(int64_t count, int64_t width) : count_(count), width_(width) {}
  int64_t width() const { return width_; }

 private:
  // Writes the numbers of a position.
  virtual void fill(int64_t position, double* row) const = 0;

  int64_t count_, width_;
  // Several threads may reach the first call at once.
  mutable std::once_flag made_;
  mutable Tensor table_;
};

}  // namespace nine
