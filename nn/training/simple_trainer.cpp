#include "nn/training/simple_trainer.h"

namespace nine {
namespace {

// One loss as an update's only micro-batch. It counts as one token, so that the update minimises
// the loss itself.
class OneLoss : public TrainingSource {
 public:
  explicit OneLoss(const SimpleTrainer::Loss& loss) : loss_(loss) {}

  int64_t fetch(int) override { return 1; }
  int count() const override { return 1; }
  Objective forward(Tape& tape, int, double) override {
    const Var loss = loss_(tape);
    require(loss.value().elements() == 1, "[SimpleTrainer] a loss must be one number, got shape ",
            loss.shape(), "; call sum()");
    const Tensor value = tape.arena().saved({}, DType::float64);
    ops::copy(loss.value().reshaped({}), value);
    return {loss, tape.constant(value)};
  }
  void commit() override {}

 private:
  const SimpleTrainer::Loss& loss_;
};

}  // namespace

SimpleTrainer::SimpleTrainer(ParameterSet& parameters, const Config& config)
    : arena_("trainer", parameters.device()),
      optimizer_(make_optimizer(parameters, config.optimizer)),
      train_step_(parameters, *optimizer_, arena_, {.clip = config.clip, .seed = config.seed}) {}

double SimpleTrainer::step(double lr, const Loss& loss) {
  train_step_.tape().reset();  // an error may have left nodes
  OneLoss data(loss);
  return train_step_.run(data, updates() + 1, lr).loss;
}

Tensor SimpleTrainer::evaluate(const Loss& f) {
  Tape& tape = train_step_.tape();
  tape.reset();
  const NoGrad no_grad(tape);
  Tensor value = f(tape).value().clone();
  tape.reset();
  return value;
}

}  // namespace nine
