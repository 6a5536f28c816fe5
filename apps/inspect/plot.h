// kernel_inspect --plot: kernels as figures.
#pragma once

#include <string>

namespace nine::app {

/// The settings of --plot.
struct PlotSettings {
  /// Head strings of single kernels, or margins, separated by commas. The default is the paper's
  /// Figure 1.
  std::string kernels = "rbf,wav,log,pow";
  double from = 0, to = 6;  ///< the range of q, or of z
};

/// True if `kernels` names margins. Their figure is over the angle, so it has no range to choose.
bool draws_margins(const std::string& kernels);

/// Draws S and dS/dq over q = |w - h|^2, with h in the origin (log-variances 0) and w on an axis.
/// For kernels of the product alone, draws S and dS/dz over z; for margins, psi and its slope over
/// the angle from 0 to pi. UsageError: a name is not a single kernel; the range is empty; a kernel
/// has no finite value or no finite derivative in the range; `kernels` mixes names that need
/// different axes.
std::string plot_svg(const PlotSettings& settings);

}  // namespace nine::app
