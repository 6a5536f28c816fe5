// Gradients against central differences, in float64.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autograd/tape.h"

namespace nine {

struct GradcheckOptions {
  double eps = 1e-5;           ///< half step, relative to max(1, |x|)
  int64_t max_elements = 200;  ///< of each input; more are sampled by `seed`; 0 = all
  uint64_t seed = 1;
};

struct GradcheckReport {
  /// Largest |analytic - numeric| of an input over the largest |numeric| there; the worst input.
  double worst = 0;
  /// Where: "input 1 of shape (3, 4), element 7: analytic 0.25, numeric 0.31".
  std::string where;
  int64_t checked = 0;  ///< elements
};

/// f builds a value from leaves; it is called many times and must be a function of them alone. A
/// value of several elements is reduced to a scalar with fixed, unequal weights, so that a gradient
/// that is right only in sum fails. inputs: float64 tensors (an Error otherwise); they are put back
/// as they were.
GradcheckReport gradcheck(const std::function<Var(std::span<const Var>)>& f,
                          const std::vector<Tensor>& inputs, const GradcheckOptions& options = {});

}  // namespace nine
