// kernel_inspect --check: every op and every head against finite differences, on fresh random
// shapes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nine::app {

/// Shapes and precision of the checks.
struct CheckSettings {
  /// "N,V,d" of the heads: contexts, words, numbers of a vector; empty: random by the seed.
  std::string shape;
  uint64_t seed = 1;  ///< of shapes, numbers and sampled elements
  /// Head strings of single kernels, separated by commas: only they are checked; empty: every op
  /// and every head.
  std::string kernels;
  double eps = 1e-5;    ///< half step, relative to max(1, |x|)
  int64_t largest = 7;  ///< the limit of a random dimension
};

/// The result for one op or head.
struct CheckRow {
  std::string name;
  int64_t checked = 0;
  double worst = 0;   ///< largest |analytic - numeric| over the largest |numeric| of the input
  std::string where;  ///< the worst element
};

/// One row an op or head. UsageError: a shape that cannot be read or is too large.
std::vector<CheckRow> check_rows(const CheckSettings& settings);
/// The table, the worst row once more, and how many are above 1e-6.
std::string check_text(const std::vector<CheckRow>& rows);
/// Whether no row is above 1e-6.
bool passed(const std::vector<CheckRow>& rows);

/// The heads that are checked: every kernel and its variants, mixtures tied and untied.
std::vector<std::string> checked_heads();

}  // namespace nine::app
