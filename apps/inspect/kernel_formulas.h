// Every kernel as formulas of z, q, ww, hh and c (docs/expressions.md), and those formulas with
// their slopes as JavaScript: what a page computes is compiled from the same expressions as the
// engine's formulas.
#pragma once

#include <string>
#include <vector>

#include "kernels/margin.h"
#include "kernels/scores/score.h"

namespace nine::app {

/// A number that a page lets its reader choose.
struct Slider {
  std::string name;
  double value = 0, low = 0, high = 1, step = 0.01;
};

/// A kernel for a page. A vector has `parts` parts of `size` numbers: two of the plane, and where
/// `extra` is not empty one more, a log-variance or the number of a radius.
struct PageKernel {
  /// Of one pair of parts. lw and lh are the extra numbers of w and h; other names are sliders.
  std::string formula;
  std::vector<Slider> sliders;
  int parts = 1, size = 2;
  std::string extra;
  enum class Combine : uint8_t { one, sum, mixture } combine = Combine::one;
  double ball = 0;  ///< radius of the ball that the points lie in; 0: none
};
PageKernel page_kernel(const Score& score);

/// psi of a margin in place of lin, as the formula of a target's score; m is its slider but for
/// lsm.
std::string margin_formula(const Margin& margin);

/// The formula's score and its slopes by z, q, ww, hh, c, lw and lh as a JavaScript function.
/// `names` get the formula's parameters in the order of its argument P.
std::string javascript_of(const std::string& formula, std::vector<std::string>& names);

}  // namespace nine::app
