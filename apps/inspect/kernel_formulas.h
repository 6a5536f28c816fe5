// Every kernel as formulas of z, q, ww, hh and c (docs/expressions.md), and those formulas with
// their slopes as JavaScript: what a page computes is compiled from the same expressions as the
// engine's formulas.
#pragma once

#include <string>
#include <vector>

#include "kernels/options/margin.h"
#include "kernels/scores/score.h"

namespace nine::app {

/// A number that a page lets its reader choose.
struct Slider {
  std::string name;
  double value = 0, low = 0, high = 1, step = 0.01;
};

/// A kernel for a page.
struct PageKernel {
  KernelExpression expression;
  /// Of one pair of parts, the scale included where it multiplies each of them. lw and lh are the
  /// extra numbers of w and h, F and G their norms, s the sine of their angle; other names are
  /// sliders.
  std::string formula;
  std::vector<Slider> sliders;
  std::string factor = {};  ///< the slider by which the combined score is multiplied, or none
};
PageKernel page_kernel(const Score& score);

/// F G psi(c) of a margin, the formula of a target's score; m is its slider but for lsm.
std::string margin_formula(const Margin& margin);

/// A formula as a JavaScript function (z, q, ww, hh, c, d, P) that returns the score and its slopes
/// by z, q, ww, hh, c and by those of `slopes_by` (of lw, lh, F, G, s) that are in it; P holds the
/// parameters in the order of `names`.
struct JavascriptFunction {
  std::string code;
  std::vector<std::string> names, slopes_by;
};
JavascriptFunction javascript_of(const std::string& formula);

}  // namespace nine::app
