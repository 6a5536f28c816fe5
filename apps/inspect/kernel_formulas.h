// Every kernel as formulas of z, q, ww, hh and c (docs/expressions.md), and these formulas and
// their slopes as JavaScript. So a page computes the same expressions as the engine's formulas.
#pragma once

#include <string>
#include <vector>

#include "kernels/options/margin.h"
#include "kernels/scores/score.h"

namespace nine::app {

/// A number that the reader of a page can choose.
struct Slider {
  std::string name;
  double value = 0, low = 0, high = 1, step = 0.01;
};

/// A kernel for a page.
struct PageKernel {
  KernelExpression expression;
  /// The formula of one pair of parts, with the scale if it multiplies each pair. lw and lh are the
  /// extra numbers of w and h, F and G their norms, s the sine of their angle. Other names are
  /// sliders.
  std::string formula;
  std::vector<Slider> sliders;
  std::string factor = {};  ///< the slider that multiplies the combined score; empty if there is no
                            ///< such slider
};
PageKernel page_kernel(const Score& score);

/// Returns F G psi(c), the formula of a target's score with a margin. m is a slider, except for
/// lsm.
std::string margin_formula(const Margin& margin);

/// A formula as a JavaScript function (z, q, ww, hh, c, d, P). It returns the score and its slopes
/// by z, q, ww, hh, c and by those of lw, lh, F, G, s that the formula has (`slopes_by`). P holds
/// the parameters in the order of `names`.
struct JavascriptFunction {
  std::string code;
  std::vector<std::string> names, slopes_by;
};
JavascriptFunction javascript_of(const std::string& formula);

}  // namespace nine::app
