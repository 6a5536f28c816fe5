// A function of one's own (softplus.h): checked against finite differences, then used like any
// other.
//
// Inside Nine a function also has a row in the table of op cases (checks/op_cases.cpp), and
// softplus has one:
//
//   unary_case("softplus", examples::softplus, [](double x) { return std::log1p(std::exp(x)); }, s,
//   -4, 4)
//
// From that row the tests draw the forward pass against the plain formula, gradients by finite
// differences, float32 against float64, windows against contiguous tensors, and one number of
// threads against another; bench_ops its speed.
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
  const std::vector<double> slopes = leaf.grad().to_vector();
  for (size_t i = 0; i < values.size(); ++i)
    std::printf("softplus(%5.1f) = %8.5f   slope %.5f\n", x.to_vector()[i], values[i], slopes[i]);

  // By itself, and in company: x reaches the result by two ways, so its gradient is a sum.
  const GradcheckReport alone =
      gradcheck([](std::span<const Var> v) { return examples::softplus(v[0]); }, {x});
  const GradcheckReport mixed =
      gradcheck([](std::span<const Var> v) { return mul(v[0], tanh(examples::softplus(v[0]))); },
                {x});  // mish
  std::printf("gradcheck: worst relative error %.0e alone, %.0e inside x tanh(softplus(x))\n",
              alone.worst, mixed.worst);
  return alone.worst < 1e-6 && mixed.worst < 1e-6 ? 0 : 1;
}
