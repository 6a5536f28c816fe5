// Checks the gradients of all parameters of a model.
#pragma once

#include <functional>

#include "autograd/gradcheck.h"
#include "nn/parameters.h"

namespace nine {

/// Does gradcheck() for a model: `f` computes a value from the parameters of `set`, which keep
/// their values. f is called many times on a tape that records, with the same random key, so that
/// dropout drops the same elements. All calls with equal parameters must compute the same value. A
/// layer may change a state at each call, as BatchNorm does, if f's value does not depend on this
/// state. GradcheckReport::where names the parameter. Frozen parameters are left out. Errors: the
/// parameters are not float64, not on the CPU, or have no gradients; backward reaches no parameter.
GradcheckReport gradcheck(ParameterSet& set, const std::function<Var(Tape&)>& f,
                          const GradcheckOptions& options = {});

}  // namespace nine
