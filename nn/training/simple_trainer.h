// A training loop of your own, in one call an update:
//
//   SimpleTrainer trainer(model.parameters);
//   for (int i = 0; i < 100; ++i)
//     trainer.step(0.01, [&](Tape& tape) { return model.loss(tape, batch); });
//
// It owns arena, tape and optimiser, and makes updates as lm_train does (TrainStep).
#pragma once

#include <functional>

#include "nn/training/optimizer.h"
#include "nn/training/train_step.h"

namespace nine {

/// Trains any model whose loss is a function of a tape; see the example above.
class SimpleTrainer {
 public:
  struct Config {
    OptimizerConfig optimizer = {};  ///< Adam by default
    double clip = 0;                 ///< largest gradient norm, 0: none
    uint64_t seed = 1;               ///< of dropout
  };
  /// Builds a scalar loss on the tape. It may be called twice for one update and must then give the
  /// same.
  using Loss = std::function<Var(Tape&)>;

  /// `parameters` must be allocated with gradients and outlive the trainer.
  explicit SimpleTrainer(ParameterSet& parameters) : SimpleTrainer(parameters, Config{}) {}
  SimpleTrainer(ParameterSet& parameters, const Config& config);

  /// One update at rate `lr`; returns the loss before it. A loss or gradient that is not finite
  /// changes no parameter and is an Error that names the op where it began. (The running maximum of
  /// a head with context norm max or max:ema has seen the batch.)
  double step(double lr, const Loss& loss);

  /// Runs `f` under NoGrad and returns a copy of its value: a loss on held-out data, scores,
  /// predictions.
  Tensor evaluate(const Loss& f);

  int64_t updates() const { return optimizer_->updates(); }

 private:
  Arena arena_;
  std::unique_ptr<Optimizer> optimizer_;
  TrainStep train_step_;
};

}  // namespace nine
