#include "data/measures/bootstrap.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "core/error.h"
#include "core/random.h"
#include "core/threads.h"

namespace nine {

std::vector<double> bootstrap_ratios(std::span<const double> numerators,
                                     std::span<const double> denominators,
                                     const BootstrapOptions& options, int64_t* drawn_again) {
  const size_t units = numerators.size();
  require(options.resamples >= 1 && units == denominators.size() && units > 0,
          "[bootstrap_ratios] ", options.resamples, " resamples of ", units, " numerators and ",
          denominators.size(),
          " denominators: needs at least one resample, at least one unit, and a denominator for "
          "each numerator");
  require(std::ranges::all_of(denominators, [](double d) { return d >= 0; }) &&
              std::ranges::any_of(denominators, [](double d) { return d > 0; }),
          "[bootstrap_ratios] a denominator is below 0, or all are 0: draws have no ratio");
  std::atomic<int64_t> without = 0;
  std::vector<double> ratios(static_cast<size_t>(options.resamples));
  parallel_for(
      options.resamples,
      [&](int64_t i) {
        RandomStream random(
            {.seed = options.seed, .step = static_cast<uint32_t>(i), .op = stream_id("bootstrap")});
        double numerator = 0, denominator = 0;
        // Ends soon: at most 37% of all draws have no unit with a denominator above 0.
        while (true) {
          for (size_t n = 0; n < units; ++n) {
            const auto u = static_cast<size_t>(random.below(units));
            numerator += numerators[u];
            denominator += denominators[u];
          }
          if (denominator > 0) break;
          numerator = 0;
          without.fetch_add(1, std::memory_order_relaxed);
        }
        ratios[static_cast<size_t>(i)] = numerator / denominator;
      },
      100.0 * static_cast<double>(options.resamples) * static_cast<double>(units));
  std::sort(ratios.begin(), ratios.end());
  if (drawn_again != nullptr) *drawn_again = without;
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
