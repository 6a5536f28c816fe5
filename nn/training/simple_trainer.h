// A loop for training your own model, with one call per update:
//
//   SimpleTrainer trainer(model.parameters);
//   for (int i = 0; i < 100; ++i)
//     trainer.step(0.01, [&](Tape& tape) { return model.loss(tape, batch); });
//
// The trainer owns arena, tape and optimiser, and makes updates as lm_train does (TrainStep).
#pragma once

#include <functional>

#include "nn/training/optimizer.h"
#include "nn/training/train_step.h"

namespace nine {

/// Trains any model whose loss is a function of a tape; the example above shows its use.
class SimpleTrainer {
 public:
  struct Config {
    OptimizerConfig optimizer = {};  ///< Adam by default
    double clip = 0;                 ///< largest gradient norm; 0: no clipping
    uint64_t seed = 1;               ///< of dropout
  };
  /// Builds a loss of one element on the tape, float32 or float64. A call must not keep Vars for
  /// later, because the trainer resets the tape. If a loss or gradient is not finite, the trainer
  /// calls the function again to find the op. Both calls must give the same loss.
  using Loss = std::function<Var(Tape&)>;

  /// `parameters` must have ParameterOptions::gradients and outlive the trainer.
  explicit SimpleTrainer(ParameterSet& parameters) : SimpleTrainer(parameters, Config{}) {}
  SimpleTrainer(ParameterSet& parameters, const Config& config);

  /// Makes one update at learning rate `lr`: builds the loss, computes the gradients, clips them
  /// (Config::clip) and lets the optimiser change the parameters. Returns the loss before the
  /// update. Errors: a loss of several elements; a loss or gradient that is not finite. In the
  /// second case the message names the op where it began, and no parameter changes. But a head with
  /// context norm max or max:ema has already recorded the batch's largest norm
  /// (HeadNorms::running).
  double step(double lr, const Loss& loss);

  /// Runs `f` under NoGrad and returns a copy of its value, on the parameters' device: a loss on
  /// held-out data, scores or predictions. The value may have any shape.
  Tensor evaluate(const Loss& f);

  int64_t updates() const { return optimizer_->updates(); }

 private:
  Arena arena_;
  std::unique_ptr<Optimizer> optimizer_;
  TrainStep train_step_;
};

}  // namespace nine
