// Dropout on rows in time order.
#pragma once

#include <string_view>

#include "autograd/functions.h"

namespace nine {

/// Sets elements to 0 with probability `p` and divides the others by 1 - p. Under NoGrad it is the
/// identity.
struct Dropout {
  double p = 0;
  /// True: all time steps of a sequence share one mask (variational dropout; Gal & Ghahramani,
  /// 2016).
  bool locked = false;

  /// Takes x (steps * batch, width), rows in time order, and returns the same shape. The step's key
  /// and `stream` determine the random numbers.
  Var operator()(const Var& x, int64_t batch, std::string_view stream) const {
    return dropout(x, p, stream, locked ? batch : 0);
  }
};

}  // namespace nine
