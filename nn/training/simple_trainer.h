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
  /// Builds a scalar loss on the tape. The trainer may call it twice for one update; both calls
  /// must give the same loss.
  using Loss = std::function<Var(Tape&)>;

  /// `parameters` must have ParameterOptions::gradients and outlive the trainer.
  explicit SimpleTrainer(ParameterSet& parameters) : SimpleTrainer(parameters, Config{}) {}
  SimpleTrainer(ParameterSet& parameters, const Config& config);

  /// Makes one update at rate `lr` and returns the loss before it. Error: a loss or gradient that
  /// is not finite; the message names the op where it began, and no parameter changes. But a head
  /// with context norm max or max:ema has already recorded the batch's largest norm
  /// (HeadNorms::running).
  double step(double lr, const Loss& loss);

  /// Runs `f` under NoGrad and returns a copy of its value: a loss on held-out data, scores or
  /// predictions.
  Tensor evaluate(const Loss& f);

  int64_t updates() const { return optimizer_->updates(); }

 private:
  Arena arena_;
  std::unique_ptr<Optimizer> optimizer_;
  TrainStep train_step_;
};

}  // namespace nine
