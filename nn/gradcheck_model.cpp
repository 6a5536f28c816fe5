#include "nn/gradcheck_model.h"

namespace nine {

GradcheckReport gradcheck(ParameterSet& set, const std::function<Var(Tape&)>& f,
                          const GradcheckOptions& options) {
  require(set.dtype() == DType::float64 && set.device() == kCpu && set.gradients(),
          "[gradcheck] the parameters must be float64, on the CPU and with gradients "
          "(ParameterOptions)");
  Arena arena("gradcheck");
  Tape tape(arena);
  set.zero_grad();
  tape.backward(checked_loss(f(tape), options.seed));
  tape.reset();
  set.zero_missing_grads();
  std::vector<std::string> names;
  std::vector<Tensor> values;
  std::vector<std::vector<double>> gradients;
  for (const Parameter& p : set.all()) {
    if (p.frozen) continue;
    names.push_back(p.name);
    values.push_back(p.value());
    gradients.push_back(p.grad().to_vector());
  }
  set.zero_grad();
  return compare_gradients(
      names, values, gradients,
      [&] {
        const double loss = checked_loss(f(tape), options.seed).value().to_vector()[0];
        tape.reset();
        return loss;
      },
      options);
}

}  // namespace nine
