// Test cases of ops on plain views that no differentiable function covers by itself: ops that add
// to their result or work in place, optimisers, copies. See op_cases.h for the other ops.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "checks/values.h"

namespace nine::checks {

/// One op (core/ops.h, kernels/ops.h) at some shapes. It reads its tensors and overwrites some of
/// them.
struct RawOpCase {
  std::string name;  ///< its first word is the op
  std::vector<Input> inputs;
  std::vector<Indices> indices = {};
  /// Runs the op on tensors of the inputs and of the indices.
  std::function<void(std::span<const Tensor>, std::span<const Tensor>)> run;
  /// Does the same to the inputs' values in plain loops.
  std::function<void(std::span<Doubles>, std::span<const Ints>)> oracle;
  bool bench = false;  ///< true if too large for a test: for the benchmark only
};

/// Adds the cases of the ops in kernels/ops.h that give vectors norms (checks/norm_op_cases.cpp).
void add_norm_cases(std::vector<RawOpCase>& all);

/// Returns all cases.
std::vector<RawOpCase> raw_op_cases();

}  // namespace nine::checks
