#include "nn/training/train_step.h"

#include <cmath>

#include "nn/training/update_gradient.h"

namespace nine {
namespace {

// Clears the tape and restores the configured anomaly detection when a step ends, also after an
// error.
struct CleanTape {
  explicit CleanTape(Tape& t) : tape(t), detect_anomaly(t.anomaly_detection()) { tape.reset(); }
  ~CleanTape() {
    tape.reset();
    tape.set_anomaly_detection(detect_anomaly);
  }
  Tape& tape;
  bool detect_anomaly;
};

}  // namespace

void TrainingSource::statistics(std::vector<StepStatistic>& /*out*/) {}

TrainStep::TrainStep(ParameterSet& parameters, Optimizer& optimizer, Arena& arena,
                     const Config& config)
    : parameters_(parameters),
      optimizer_(optimizer),
      tape_(arena),
      config_(config),
      gradient_(std::make_unique<UpdateGradient>(parameters, tape_, config)) {
  tape_.set_anomaly_detection(config.detect_anomaly);
}

TrainStep::~TrainStep() = default;

StepResult TrainStep::run(TrainingSource& data, int64_t step, double lr) {
  const int64_t tokens = data.fetch(config_.accumulate);
  const CleanTape clean(tape_);
  const StepResult result = gradient_->compute(data, step, tokens);
  if (!std::isfinite(result.loss) || !std::isfinite(result.grad_norm)) {
    tape_.reset();
    tape_.set_anomaly_detection(true);
    gradient_->compute(data, step, tokens);
    fail("step ", step, " gave a loss of ", result.loss, " and a gradient norm of ",
         result.grad_norm,
         ", which no single op explains; lower the learning rate or set gradient clipping");
  }
  optimizer_.step(lr, gradient_->norm_squared(), config_.clip);
  parameters_.zero_grad();
  data.commit();
  return result;
}

}  // namespace nine
