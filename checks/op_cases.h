// The table of op cases: for each differentiable function, some shapes and the same function in
// plain loops. The cases are used for four things: forward passes are compared with the plain
// loops, gradients with finite differences, and devices, precisions and numbers of threads with
// each other; and the op benchmark times them. Every function must have a case:
// tests/core/test_ops.cpp fails for one that has none. The cases are in files by subject, see
// op_case_groups.h.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autograd/tape.h"
#include "checks/values.h"

namespace nine::checks {

/// One differentiable function (autograd/functions.h, kernels/) at some shapes.
struct OpCase {
  std::string name;  ///< its first word is the function
  std::vector<Input> inputs;
  std::vector<Indices> indices = {};
  /// Calls the function with Vars of the inputs and tensors of the indices.
  std::function<Var(std::span<const Var>, std::span<const Tensor>)> run;
  /// The same function in plain loops; inputs and result in row-major order.
  std::function<Doubles(std::span<const Doubles>, std::span<const Ints>)> oracle;
  int64_t checked = 30;  ///< elements of each input that are checked by finite differences
  bool windows = true;   ///< matrices among the inputs may be columns of wider ones
  bool bench = false;    ///< too large for a test: the benchmark only
};

/// All cases, with the sizes that the tests and the benchmark use.
std::vector<OpCase> op_cases();

/// A case of each differentiable function and its variants at random shapes, dimensions from 1 to
/// `max_size`: for kernel_inspect --check.
std::vector<OpCase> random_op_cases(uint64_t seed, int64_t max_size);

}  // namespace nine::checks
