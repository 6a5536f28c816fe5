// The recurrent part of a GRU layer as a differentiable function.
#pragma once

#include "autograd/functions.h"

namespace nine {

/// Runs a GRU layer (Cho et al., 2014, in PyTorch's form: ops::GruCell has the formula) over the
/// inputs of its gates. from_x (steps * batch, 3H), row t * batch + b, is x w_ih' + b_ih in the
/// gates' order r z n; w_hh (3H, H), b_hh (3H) and the first state h0 (batch, H). Returns the
/// states after each step, (steps * batch, H). Errors: shapes that do not fit each other.
Var gru(const Var& from_x, const Var& w_hh, const Var& b_hh, const Var& h0);

}  // namespace nine
