#include "data/measures/bootstrap.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/random.h"
#include "core/threads.h"

namespace nine {

std::vector<double> bootstrap_ratios(std::span<const double> numerators,
                                     std::span<const double> denominators,
                                     const BootstrapOptions& options) {
  const size_t units = numerators.size();
  require(options.resamples >= 1 && units == denominators.size() && units > 0,
          "[bootstrap_ratios] ", options.resamples, " resamples of ", units, " numerators and ",
          denominators.size(),
          " denominators: needs at least one resample, at least one unit, and a denominator for "
          "each numerator");
  std::vector<double> ratios(static_cast<size_t>(options.resamples));
  parallel_for(
      options.resamples,
      [&](int64_t i) {
        RandomStream random(
            {.seed = options.seed, .step = static_cast<uint32_t>(i), .op = stream_id("bootstrap")});
        double numerator = 0, denominator = 0;
        for (size_t n = 0; n < units; ++n) {
          const auto u = static_cast<size_t>(random.below(units));
          numerator += numerators[u];
          denominator += denominators[u];
        }
        ratios[static_cast<size_t>(i)] = denominator != 0 ? numerator / denominator : 0;
      },
      100.0 * static_cast<double>(options.resamples) * static_cast<double>(units));
  std::sort(ratios.begin(), ratios.end());
  return ratios;
}

Interval percentile_interval(std::span<const double> sorted, double level) {
  require(!sorted.empty() && level > 0 && level < 1, "[percentile_interval] ", sorted.size(),
          " values and a level of ", level,
          ": needs at least one value and a level between 0 and 1");
  // 1e-9: 0.05 * 1000 is 50, also where (1 - 0.9) / 2 comes out below 0.05.
  const auto n = static_cast<double>(sorted.size());
  const auto beyond = static_cast<size_t>(std::floor((1 - level) / 2 * n + 1e-9));
  return {sorted[beyond], sorted[sorted.size() - 1 - beyond]};
}

}  // namespace nine
