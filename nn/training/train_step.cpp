#include "nn/training/train_step.h"

#include <cmath>

#include "core/ops.h"

namespace nine {
namespace {

// Clears the tape and restores the configured anomaly detection when a step ends, by an error too.
struct CleanTape {
  explicit CleanTape(Tape& t) : tape(t), detect_anomaly(t.anomaly_detection()) { tape.reset(); }
  ~CleanTape() {
    tape.reset();
    tape.set_anomaly_detection(detect_anomaly);
  }
  Tape& tape;
  bool detect_anomaly;
};

enum Total : int64_t { kLoss, kNats, kNormSquared, kTotals };
View total_of(const Tensor& totals, Total which) {
  return totals.view().row_range(which, 1).reshaped({});
}

}  // namespace

TrainStep::TrainStep(ParameterSet& parameters, Optimizer& optimizer, Arena& arena,
                     const Config& config)
    : parameters_(parameters),
      optimizer_(optimizer),
      tape_(arena),
      config_(config),
      totals_({kTotals, 1}, DType::float64, arena.device()) {
  tape_.set_anomaly_detection(config.detect_anomaly);
}

StepResult TrainStep::gradients(TrainingSource& data, int64_t step, int64_t tokens) {
  parameters_.zero_grad();
  StepResult result{.tokens = tokens};
  const double row_weight = 1.0 / static_cast<double>(tokens);
  for (int i = 0; i < data.count(); ++i) {
    tape_.set_random_key({.seed = config_.seed,
                          .step = static_cast<uint32_t>(step),
                          .micro_batch = static_cast<uint16_t>(i)});
    const auto [loss, nll] = data.forward(tape_, i, row_weight);
    const Tensor objective = tape_.arena().saved({}, DType::float64),
                 nats = tape_.arena().saved({}, DType::float64);
    ops::copy(loss.value(), objective);  // float32 losses become float64
    ops::sum(nll.value(), {nats});
    ops::scale(1, objective, {total_of(totals_, kLoss), i > 0});
    ops::scale(row_weight, nats, {total_of(totals_, kNats), i > 0});
    tape_.backward(loss);
    tape_.reset();
  }
  parameters_.zero_missing_grads();
  parameters_.sum_squares(total_of(totals_, kNormSquared), tape_.arena());
  double read[kTotals];
  ops::copy(totals_, View(read, {kTotals, 1}));  // waits for the device
  result.loss = read[kLoss];
  result.nll = read[kNats];
  result.grad_norm = std::sqrt(read[kNormSquared]);
  return result;
}

StepResult TrainStep::run(TrainingSource& data, int64_t step, double lr) {
  const int64_t tokens = data.fetch(config_.accumulate);
  const CleanTape clean(tape_);
  const StepResult result = gradients(data, step, tokens);
  if (!std::isfinite(result.loss) || !std::isfinite(result.grad_norm)) {
    tape_.reset();
    tape_.set_anomaly_detection(true);
    gradients(data, step, tokens);
    fail("step ", step, " gave a loss of ", result.loss, " and a gradient norm of ",
         result.grad_norm,
         ", which no single op explains; lower the learning rate or set gradient clipping");
  }
  optimizer_.step(lr, total_of(totals_, kNormSquared), config_.clip);
  parameters_.zero_grad();
  data.commit();
  return result;
}

}  // namespace nine
