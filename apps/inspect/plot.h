// kernel_inspect --plot: kernels as figures.
#pragma once

#include <string>

namespace nine::app {

/// The settings of --plot.
struct PlotSettings {
  /// Head strings of single kernels, or margins ("cos:0.35"), separated by commas. The default is
  /// Figure 1 of Gao et al. (2019).
  std::string kernels = "rbf,wav,log,pow";
  double from = 0, to = 6;  ///< the range of the horizontal axis, q or z; unused for margins
};

/// True if `kernels` names margins. Their figure is over the angle, so it has no range to choose.
bool draws_margins(const std::string& kernels);

/// Returns an SVG figure of scores S and their slopes. The figure shows S and dS/dq over q = |w -
/// h|^2: h is the origin, w moves along an axis, and log-variances are 0. For kernels of the
/// product alone, the figure shows S and dS/dz over z = w . h. For margins, it shows psi and d psi
/// / d cos(theta) over the angle theta from 0 to pi. Gives a notice() if a curve has no finite
/// value in more than a tenth of the range. UsageErrors: a name that is not a single kernel; a name
/// that stands twice; an empty range; q below 0; a curve without a finite value; names that need
/// different axes.
std::string plot_svg(const PlotSettings& settings);

}  // namespace nine::app
