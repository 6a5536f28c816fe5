#include "tests/cuda/device_cases.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>

#include "autograd/functions.h"
#include "core/ops.h"
#include "cuda/cuda.h"

namespace nine::tests {

using namespace checks;

Tensor to_device(const Tensor& tensor, Device device, int64_t gap) {
  const Shape& s = tensor.shape();
  if (gap == 0 || s.rank() != 2) {
    Tensor t(s, tensor.dtype(), device);
    ops::copy(tensor, t);
    return t;
  }
  const Tensor wide({s.rows(), s.cols() + gap}, tensor.dtype(), device);
  ops::fill(wide, std::nan(""));
  Tensor t = wide.col_range(gap / 2, s.cols());
  ops::copy(tensor, t);
  return t;
}

Arena& poisoned_pool(Device device, size_t bytes) {
  static std::map<std::pair<DeviceKind, size_t>, std::unique_ptr<Arena>> pools;
  std::unique_ptr<Arena>& arena = pools[{device.kind, bytes}];
  constexpr int64_t kNumbers = 1 << 19;
  if (!arena) arena = std::make_unique<Arena>("tests", device, bytes);
  static const Tensor nan = tensor_of(Doubles(kNumbers, std::nan("")), {kNumbers}, DType::float32);
  arena->reset();
  {
    const Arena::Scope scope(*arena);
    ops::copy(nan, arena->saved({kNumbers}, DType::float32));
    ops::copy(nan, arena->temporary({kNumbers}, DType::float32));
  }
  arena->reset();
  return *arena;
}

Run run_case(const OpCase& c, DType dtype, Device device, uint64_t seed, int64_t gap) {
  const std::vector<Doubles> values = random_values(c.inputs, seed);
  const std::vector<Ints> ints = random_indices(c.indices, seed);
  std::vector<Parameter> parameters(values.size());
  std::vector<Tensor> indices;
  for (size_t i = 0; i < ints.size(); ++i)
    indices.push_back(to_device(tensor_of(ints[i], c.indices[i].shape), device));
  Tape tape(poisoned_pool(device));
  std::vector<Var> x;
  for (size_t i = 0; i < values.size(); ++i) {
    const Shape& s = c.inputs[i].shape;
    parameters[i].set_memory(
        to_device(tensor_of(values[i], s, dtype), device, gap),
        to_device(tensor_of(Doubles(values[i].size(), std::nan("")), s, dtype), device, gap));
    x.push_back(tape.parameter(parameters[i]));
  }
  const Var y = c.run(x, indices);
  Run run{y.value().to_vector(), {}};
  Var loss = y;
  if (y.value().elements() > 1) {
    const Doubles weights = random_values({{y.shape(), 0.5, 1.5}}, 99)[0];
    loss = sum(mul(y, tape.constant(to_device(tensor_of(weights, y.shape(), dtype), device))));
  }
  tape.backward(loss);
  for (const Parameter& p : parameters) run.gradients.push_back(p.grad().to_vector());
  return run;
}

std::vector<Doubles> run_raw_op(const RawOpCase& c, DType dtype, Device device, uint64_t seed,
                                int64_t gap) {
  const std::vector<Doubles> values = random_values(c.inputs, seed);
  const std::vector<Ints> ints = random_indices(c.indices, seed);
  std::vector<Tensor> tensors, indices;
  for (size_t i = 0; i < values.size(); ++i)
    tensors.push_back(to_device(
        tensor_of(values[i], c.inputs[i].shape, c.inputs[i].always_double ? DType::float64 : dtype),
        device, gap));
  for (size_t i = 0; i < ints.size(); ++i)
    indices.push_back(to_device(tensor_of(ints[i], c.indices[i].shape), device));
  c.run(tensors, indices);
  std::vector<Doubles> out;
  for (const Tensor& t : tensors) out.push_back(t.to_vector());
  return out;
}

}  // namespace nine::tests
