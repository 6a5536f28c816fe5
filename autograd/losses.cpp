#include "autograd/losses.h"

#include <limits>

#include "core/ops.h"

namespace nine {

Var logistic_loss(const Var& x, const Var& target) {
  Tape& tape = x.tape();
  const Var y = tape.result("logistic_loss", x.shape(), x.dtype(), {x, target});
  ops::logistic_loss(x.value(), target.value(), y.value());
  return tape.record(y, [x, target, y] {
    // The order of the calls is that of the writes, as in layer_norm().
    const OutputView dx = x.grad_input(), dt = target.grad_input();
    ops::logistic_loss_backward(x.value(), target.value(), y.grad_output(), dx, dt);
  });
}

Var binary_cross_entropy(const Var& logits, const Var& target) {
  return mean(logistic_loss(logits, target));
}

Var kl_divergence(const Var& log_q, const Tensor& p) {
  require(log_q.shape() == p.shape() && log_q.shape().rank() >= 1,
          "[kl_divergence] log_q has shape ", log_q.shape(), " but p has shape ", p.shape(),
          ": both must be (n, V)");
  Tape& tape = log_q.tape();
  const Var target = tape.constant(tape.on_device(p));
  // The smallest normal number: log 0 would be infinite, and 0 times infinity no number.
  const double tiny = log_q.dtype() == DType::float64 ? std::numeric_limits<double>::min()
                                                      : std::numeric_limits<float>::min();
  const Var terms = mul(target, sub(log(target + tiny), log_q));
  return scale(sum(terms), 1.0 / static_cast<double>(log_q.shape().rows()));
}

Var normal_kl(const Var& mean, const Var& log_variance) {
  require(mean.shape() == log_variance.shape(), "[normal_kl] mean has shape ", mean.shape(),
          " but log_variance has shape ", log_variance.shape());
  const Var twice = square(mean) + exp(log_variance) - log_variance - 1.0;
  return scale(sum(twice), 0.5 / static_cast<double>(mean.shape().rows()));
}

Var cross_entropy(const Var& logits, const Tensor& targets, const Tensor& class_weights) {
  const int64_t classes = logits.shape().cols();
  require(class_weights.shape() == Shape{classes}, "[cross_entropy] logits of shape ",
          logits.shape(), " need ", classes, " weights of classes, got ", class_weights.shape());
  require(targets.elements() == logits.shape().rows() &&
              (targets.dtype() == DType::int32 || targets.dtype() == DType::int64),
          "[cross_entropy] logits of shape ", logits.shape(), " need ", logits.shape().rows(),
          " int32 or int64 targets, got ", targets.dtype(), " ", targets.shape());
  const std::vector<double> weights = class_weights.to_vector();
  double total = 0;
  for (const double target : targets.to_vector()) {
    require(target >= -1 && target < static_cast<double>(classes), "[cross_entropy] target ",
            target, " is outside of [-1, ", classes, ")");
    if (target >= 0) total += weights[static_cast<size_t>(target)];
  }
  require(total > 0, "[cross_entropy] the weights of the ", targets.elements(),
          " targets sum to 0: there is nothing to average");
  Tape& tape = logits.tape();
  return nll(mul(log_softmax(logits), tape.constant(tape.on_device(class_weights))),
             tape.on_device(targets), 1.0 / total);
}

}  // namespace nine
