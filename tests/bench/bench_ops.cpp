// The op benchmark: every row of checks/op_cases.h that is marked for it, forward and backward in
// float32, as the profile counts its ops.
//
//   bench_ops [part of a row's name]
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "checks/op_cases.h"
#include "checks/raw_op_cases.h"
#include "core/gemm.h"
#include "core/profile.h"
#include "core/threads.h"
#include "kernels/install_cuda.h"

using namespace nine;
using namespace nine::checks;

namespace {

constexpr double kSeconds = 0.5;  // a row

// Calls f until the time is up, after two calls that warm caches and compile products; prints what
// each op cost.
template <class F>
void measure(const std::string& name, F&& f) {
  f();
  f();
  profile::reset();
  profile::enable(true);
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < kSeconds)
    f();
  profile::enable(false);
  std::printf("%s\n", name.c_str());
  for (const profile::Entry& e : profile::entries())
    std::printf("  %-22s %10.1f us  %8.1f GFLOP/s  %7.1f GB/s\n", std::string(e.op).c_str(),
                e.seconds / static_cast<double>(e.calls) * 1e6, e.flops / e.seconds * 1e-9,
                e.bytes / e.seconds * 1e-9);
}

std::vector<Tensor> tensors_of(const std::vector<Input>& inputs) {
  std::vector<Tensor> tensors;
  const std::vector<Doubles> values = random_values(inputs, 1);
  for (size_t i = 0; i < values.size(); ++i)
    tensors.push_back(tensor_of(values[i], inputs[i].shape,
                                inputs[i].always_double ? DType::float64 : DType::float32));
  return tensors;
}

std::vector<Tensor> tensors_of(const std::vector<Indices>& indices) {
  std::vector<Tensor> tensors;
  const std::vector<Ints> values = random_indices(indices, 1);
  for (size_t i = 0; i < values.size(); ++i)
    tensors.push_back(tensor_of(values[i], indices[i].shape));
  return tensors;
}

void bench(const OpCase& c) {
  const std::vector<Tensor> values = tensors_of(c.inputs), indices = tensors_of(c.indices);
  std::vector<Parameter> parameters;
  for (const Tensor& t : values) parameters.emplace_back(c.name, t, Tensor(t.shape(), t.dtype()));
  Arena pool("bench");
  Tape tape(pool);
  measure(c.name, [&] {
    std::vector<Var> x;
    for (Parameter& p : parameters) x.push_back(tape.parameter(p));
    const Var y = c.run(x, indices);
    tape.backward(y.value().elements() == 1 ? y : sum(y));
    tape.reset();
  });
}

void bench(const RawOpCase& c) {
  const std::vector<Tensor> values = tensors_of(c.inputs), indices = tensors_of(c.indices);
  measure(c.name, [&] { c.run(values, indices); });
}

template <class Case>
void bench_all(const std::vector<Case>& cases, const std::string& part) {
  for (const Case& c : cases)
    if (c.bench && c.name.find(part) != std::string::npos) bench(c);
}

}  // namespace

int main(int argc, char** argv) {
  install_cuda();
  const std::string part = argc > 1 ? argv[1] : "";
  std::printf("%d threads, products by %s\n", threads(), to_text(gemm_backend()).c_str());
  bench_all(op_cases(), part);
  bench_all(raw_op_cases(), part);
}
