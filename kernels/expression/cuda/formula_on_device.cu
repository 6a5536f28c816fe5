#include "kernels/expression/cuda/formula_on_device.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/error.h"
#include "kernels/expression/formula.h"

namespace nine::cuda {
namespace {

using expression::Formula;
using expression::Instruction;
using expression::Operand;
using expression::Program;
using expression::ProgramView;

// Bytes on the device. They are never freed, because formulas are not freed either.
template <class T>
const T* copy_to(CudaDevice& device, const std::vector<T>& values) {
  if (values.empty()) return nullptr;
  const size_t bytes = values.size() * sizeof(T);
  void* memory = nullptr;
  check("kernel_softmax", cudaMalloc(&memory, bytes));
  device.upload(values.data(), bytes, memory, bytes, bytes, 1);
  return static_cast<const T*>(memory);
}

struct OnDevice {
  scores::ExprPair pair;
  double* constants = nullptr;
  std::vector<double> copied;  // the numbers that the device has

  OnDevice(CudaDevice& device, const Formula& formula) {
    const auto view = [&](const Program& program) {
      ProgramView on_host(program);
      on_host.code = copy_to(device, program.code);
      on_host.outputs = copy_to(device, program.outputs);
      return on_host;
    };
    pair.score = view(formula.score());
    pair.by_vectors = view(formula.slopes());
    pair.exact_slopes = view(formula.exact());
    pair.by_parameters = view(formula.parameter_slopes());
    void* memory = nullptr;
    check("kernel_softmax", cudaMalloc(&memory, Operand::kConstants * sizeof(double)));
    constants = static_cast<double*>(memory);
    pair.constants = constants;
  }
};

}  // namespace

scores::ExprPair formula_on(CudaDevice& device, const Score& score, int64_t d) {
  // One map per thread: a thread's launches and copies follow each other on the stream. Launches of
  // another thread, which may use other numbers, do not.
  thread_local auto& all = *new std::map<std::pair<const Formula*, int>, std::unique_ptr<OnDevice>>;
  require(score.formula != nullptr, "[head] a score of kind expr without a formula");
  std::unique_ptr<OnDevice>& own = all[{score.formula, device.index()}];
  if (own == nullptr) own = std::make_unique<OnDevice>(device, *score.formula);
  std::vector<double> now(Operand::kConstants);
  score.formula->constants().compute(static_cast<double>(d), score.parameters, now.data());
  if (own->copied.empty() ||
      std::memcmp(now.data(), own->copied.data(), now.size() * sizeof(double)) != 0) {
    own->copied = now;
    const size_t bytes = now.size() * sizeof(double);
    device.upload(now.data(), bytes, own->constants, bytes, bytes, 1);
  }
  scores::ExprPair pair = own->pair;
  pair.learned = score.learned;
  return pair;
}

}  // namespace nine::cuda
