// The table of op cases: for each differentiable function, some shapes and the same function in
// plain loops. Tests compare forward passes with the plain loops, gradients with finite
// differences, and devices, precisions and numbers of threads with each other. The op benchmark
// times the cases. Every function must have a case, or tests/core/test_ops.cpp fails. The cases are
// in files by subject, see op_case_groups.h.
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
  int64_t checked = 30;  ///< elements of each input to check by finite differences
  bool windows = true;   ///< matrices among the inputs may be columns of wider matrices
  bool bench = false;    ///< true if too large for a test: for the benchmark only
};

/// Returns all cases, with the sizes of the tests and the benchmark.
std::vector<OpCase> op_cases();

/// Returns a case of each differentiable function and its variants at random shapes with dimensions
/// from 1 to `max_size`, for kernel_inspect --check.
std::vector<OpCase> random_op_cases(uint64_t seed, int64_t max_size);

}  // namespace nine::checks
