// kernel_inspect --check: compares every op and every head with finite differences, on random
// shapes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nine::app {

/// The shapes and the precision of the checks.
struct CheckSettings {
  /// "N,V,d", the heads' numbers of contexts, words and vector elements; empty: drawn from the
  /// seed.
  std::string shape;
  uint64_t seed = 1;  ///< seed of shapes, numbers and sampled elements
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
  /// What was not checked because all its gradients vanish (GradcheckReport::vanished): of a head
  /// its contexts, its word vectors; of an op all inputs. Empty: something of each was checked.
  std::string unchecked;
  bool is_head = false;
};

/// Returns one row for each op and head. UsageError: the shape cannot be read or is too large.
std::vector<CheckRow> check_rows(const CheckSettings& settings);
/// Returns the table, the worst row again, the number of rows above 1e-6, and the rows of which
/// something was not checked.
std::string check_text(const std::vector<CheckRow>& rows);
/// True if no row is above 1e-6, and of each head contexts and word vectors were checked. An op may
/// have gradients of 0 at the shape and the numbers that are drawn, as relu has.
bool passed(const std::vector<CheckRow>& rows);

/// Returns the heads to check: every kernel with its variants, and tied and untied mixtures.
std::vector<std::string> checked_heads();

}  // namespace nine::app
