// Dropout on rows in time order: row t * batch + b is time step t of batch element b.
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

  /// Takes x (steps * batch, width) and returns the same shape. Tape::random_key(stream) determines
  /// the random numbers. Only `locked` masks use `batch`.
  Var operator()(const Var& x, int64_t batch, std::string_view stream) const {
    return dropout(x, p, stream, locked ? batch : 0);
  }
};

}  // namespace nine
