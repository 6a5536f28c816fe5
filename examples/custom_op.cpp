// A differentiable function of your own (softplus.h): used like any other, and its gradient checked
// by finite differences.
//
// Functions that are a part of Nine also have a case in checks/. This is softplus's, in
// tensor_op_cases.cpp:
//
//   unary_case("softplus", examples::softplus,
//              [](double x) { return std::log1p(std::exp(x)); }, shape, -4, 4)
//
// From it the tests compare the result with that formula, the gradient with finite differences,
// float32 with float64, views of wider matrices with contiguous tensors, and one thread with
// several; bench_ops measures its speed.
#include "softplus.h"

#include <cstdio>

#include "nn/nine.h"

using namespace nine;

int main() {
  const Tensor x = Tensor::from<double>({-30, -2, -0.5, 0, 0.5, 2, 30}, {7});
  Arena pool("step");
  Tape tape(pool);
  const Var leaf = tape.leaf(x), y = examples::softplus(leaf);
  const std::vector<double> values = y.value().to_vector();
  tape.backward(sum(y));
  const std::vector<double> gradients = leaf.grad().to_vector();
  for (size_t i = 0; i < values.size(); ++i)
    std::printf("softplus(%5.1f) = %8.5f   gradient %.5f\n", x.to_vector()[i], values[i],
                gradients[i]);

  // softplus alone, and in mish(x) = x tanh(softplus(x)), where x is used twice and its gradient is
  // the sum of both.
  const GradcheckReport alone =
      gradcheck([](std::span<const Var> v) { return examples::softplus(v[0]); }, {x});
  const GradcheckReport mixed = gradcheck(
      [](std::span<const Var> v) { return mul(v[0], tanh(examples::softplus(v[0]))); }, {x});
  std::printf("gradcheck: worst relative error %.0e alone, %.0e inside x tanh(softplus(x))\n",
              alone.worst, mixed.worst);
  return alone.worst < 1e-6 && mixed.worst < 1e-6 ? 0 : 1;
}
