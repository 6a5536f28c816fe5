// kernel_inspect --plot: kernels as figures.
#pragma once

#include <string>

namespace nine::app {

/// What --plot draws.
struct PlotSettings {
  /// Head strings of single kernels, or margins, separated by commas. These are the paper's Figure
  /// 1.
  std::string kernels = "rbf,wav,log,pow";
  double from = 0, to = 6;  ///< the range of q, or of z
};

/// Whether `kernels` names margins, whose figure is over the angle and has no range to choose.
bool draws_margins(const std::string& kernels);

/// S and dS/dq over q = |w - h|^2, h in the origin (log-variances 0) and w on an axis; for kernels
/// of the product alone S and dS/dz over z; of margins psi and its slope over the angle, from 0 to
/// pi. UsageError: a name is no single kernel, the range is empty, a kernel has no finite value or
/// no finite derivative in it, or `kernels` has some of either sort.
std::string plot_svg(const PlotSettings& settings);

}  // namespace nine::app
