// Packed copies of the weights of linear layers, for decoding on the CPU: a step multiplies the
// same weights with a few rows, again and again.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <variant>

#include "core/packed_linear.h"

namespace nine {

/// Packed weights, found by the memory of the weights that they are copies of. A layer adds its own
/// (Linear::pack); Tape::use_packed() lets it multiply with them. The weights must outlive the
/// copies and keep their values. Several threads may call multiply() at once.
class PackedWeights {
 public:
  /// Packs w (out, in) with its bias (out) or an empty view. Weights on a GPU are not packed.
  void add(const View& w, const View& bias);
  /// Computes y = x w' + bias for x (rows, in), stored by `mode` in y (rows, out). Returns false,
  /// and does nothing, if w was not packed.
  bool multiply(const View& x, const View& w, const View& y, LinearMode mode) const;

 private:
  // By the weights' first element and their number of rows.
  std::map<std::pair<const void*, int64_t>, std::variant<PackedLinear<float>, PackedLinear<double>>>
      packed_;
};

}  // namespace nine
