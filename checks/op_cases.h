// The table of op cases (architecture.md, decision 9). One row an op and a set of shapes; the rows
// drive four things: the forward pass against an oracle in double, gradients by finite differences,
// one device or precision or number of threads against another, and the op benchmark. An op without
// a row does not exist: test_ops.cpp looks for it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autograd/tape.h"

namespace nine::checks {

using Doubles = std::vector<double>;
using Ints = std::vector<int32_t>;

/// A random float tensor: uniform in [low, high), rounded to float32, so that both precisions
/// compute on the same numbers.
struct Input {
  Shape shape;
  double low = -1, high = 1;
  bool always_double = false;  ///< float64 in a float32 run too (norms, losses)
  bool nan = false;            ///< filled with NaN: an output that must be written everywhere
};
/// A random int32 tensor: uniform in [low, high).
struct Indices {
  Shape shape;
  int32_t low = 0, high = 1;
};

/// A differentiable function. The name's first word is the function's.
struct OpCase {
  std::string name;
  std::vector<Input> inputs;
  std::vector<Indices> indices = {};
  std::function<Var(std::span<const Var>, std::span<const Tensor>)> run;
  /// The same function in plain loops; inputs and result in row-major order.
  std::function<Doubles(std::span<const Doubles>, std::span<const Ints>)> oracle;
  int64_t checked = 30;  ///< elements of each input that finite differences look at
  bool windows = true;   ///< matrices among the inputs may be windows on wider ones
  bool bench = false;    ///< a shape for the benchmark only
};

/// An op on plain views: it reads and writes its tensors in place.
struct PlainCase {
  std::string name;
  std::vector<Input> inputs;
  std::vector<Indices> indices = {};
  std::function<void(std::span<const Tensor>, std::span<const Tensor>)> run;
  std::function<void(std::span<Doubles>, std::span<const Ints>)> oracle;
  bool bench = false;
};

std::vector<OpCase> op_cases();
std::vector<PlainCase> raw_op_cases();
/// A row of each differentiable function and its variants at shapes drawn from `seed`, dimensions
/// from 1 to `most`: for kernel_inspect --check.
std::vector<OpCase> random_op_cases(uint64_t seed, int64_t most);

/// Values for a row's inputs, in row-major order; the same for the same seed.
std::vector<Doubles> random_values(const std::vector<Input>& inputs, uint64_t seed);
std::vector<Ints> random_indices(const std::vector<Indices>& indices, uint64_t seed);

/// The values as a tensor; `gap` > 0: a matrix is a window on one that is `gap` columns wider.
Tensor tensor_of(const Doubles& values, const Shape& shape, DType dtype, int64_t gap = 0);
Tensor tensor_of(const Ints& values, const Shape& shape);

}  // namespace nine::checks
