// Dropout on rows in time order.
#pragma once

#include <string_view>

#include "autograd/functions.h"

namespace nine {

/// Sets elements to 0 with probability `p` and divides the others by 1 - p; the identity under
/// NoGrad.
struct Dropout {
  double p = 0;
  /// One mask for all time steps of a sequence: variational dropout (Gal & Ghahramani, 2016).
  bool locked = false;

  /// x (steps * batch, width), rows in time order. The random numbers are those of the step's key
  /// and `stream`.
  Var operator()(const Var& x, int64_t batch, std::string_view stream) const {
    return dropout(x, p, stream, locked ? batch : 0);
  }
};

}  // namespace nine
