// Learns XOR, the smallest task that needs a hidden layer, after checking the gradient.
#include <cstdio>

#include "nn/nine.h"

using namespace nine;

const Tensor kInputs = Tensor::from<double>({0, 0, 0, 1, 1, 0, 1, 1}, {4, 2});
const Tensor kTargets = Tensor::from<double>({0, 1, 1, 0}, {4, 1});

// y = sigmoid(W2 tanh(W1 x + b1) + b2)
struct Net {
  ParameterSet parameters{{.dtype = DType::float64}};
  Linear hidden{parameters, "hidden", 2, 4}, output{parameters, "output", 4, 1};

  Var operator()(const Var& x) const { return sigmoid(output(tanh(hidden(x)))); }
};

Var squared_error(const Var& y) { return sum(square(y - y.tape().constant(kTargets))); }

int main() {
  // The loss of the same network as a function of its weights. gradcheck moves each weight a little
  // and compares the change of the loss with the gradient.
  const auto loss_of = [](std::span<const Var> w) {
    const Var x = w[0].tape().constant(kInputs);
    return squared_error(sigmoid(linear(tanh(linear(x, w[0], w[1])), w[2], w[3])));
  };
  Net net;
  std::vector<Tensor> weights;
  for (const Parameter& p : net.parameters.all()) weights.push_back(p.value().clone());
  const GradcheckReport report = gradcheck(loss_of, weights);
  std::printf("gradcheck: %lld elements, worst relative error %.0e\n",
              static_cast<long long>(report.checked), report.worst);
  if (report.worst > 1e-6) {
    std::printf("at %s\n", report.where.c_str());
    return 1;
  }

  SimpleTrainer trainer(net.parameters);
  for (int update = 0; update <= 1000; ++update) {
    const double loss =
        trainer.step(0.03, [&](Tape& tape) { return squared_error(net(tape.constant(kInputs))); });
    if (update % 200 == 0) std::printf("update %4d  loss %.4f\n", update, loss);
  }

  const std::vector<double> y =
      trainer.evaluate([&](Tape& tape) { return net(tape.constant(kInputs)); }).to_vector();
  const std::vector<double> x = kInputs.to_vector(), targets = kTargets.to_vector();
  bool right = true;
  for (size_t i = 0; i < y.size(); ++i) {
    std::printf("%.0f xor %.0f = %.3f\n", x[2 * i], x[2 * i + 1], y[i]);
    right = right && (y[i] > 0.5) == (targets[i] > 0.5);
  }
  return right ? 0 : 1;
}
