// One update of the parameters: the step that trainers run and benchmarks measure.
#pragma once

#include "autograd/tape.h"
#include "nn/training/optimizer.h"

namespace nine {

/// Where an update's data and losses come from. Between fetch() and commit() everything can be
/// repeated: forward() starts from the same state each time.
class TrainingSource {
 public:
  virtual ~TrainingSource() = default;

  /// Takes the next micro-batches, at most `most` (fewer at the end of an epoch, at least one).
  /// Returns the tokens they predict together.
  virtual int64_t fetch(int most) = 0;
  /// How many the last fetch took.
  virtual int count() const = 0;

  struct Objective {
    Var loss;  ///< what is minimised, weighted by row_weight: the micro-batches' losses add up to
               ///< the mean per token
    Var nll;   ///< float64, nats of each position, unweighted and without smoothing or regularisers
  };
  /// Records micro-batch i (in order) on the tape. row_weight = 1 / tokens of the update.
  virtual Objective forward(Tape& tape, int i, double row_weight) = 0;
  /// The update was made: carries the state on.
  virtual void commit() = 0;
};

/// What an update told of itself.
struct StepResult {
  double loss = 0;       ///< objective, mean per predicted token
  double nll = 0;        ///< nats per predicted token
  double grad_norm = 0;  ///< before clipping
  int64_t tokens = 0;
};

/// The gradient of an update's micro-batches, clipped and handed to the optimiser.
class TrainStep {
 public:
  struct Config {
    int accumulate = 1;  ///< micro-batches an update
    double clip = 0;     ///< largest gradient norm, 0: none
    uint64_t seed = 1;
    bool detect_anomaly = false;  ///< search every tensor of every step
  };
  TrainStep(ParameterSet& parameters, Optimizer& optimizer, Arena& arena, const Config& config);

  /// Update number `step` (1, 2, ...) at rate `lr`. A loss or gradient that is not finite changes
  /// neither parameters nor carried state: the step is run again with every tensor searched, and
  /// the Error names the op that first gave NaN or infinity. The data has then moved past that
  /// batch.
  StepResult run(TrainingSource& data, int64_t step, double lr);

  Tape& tape() { return tape_; }

 private:
  StepResult gradients(TrainingSource& data, int64_t step, int64_t tokens);

  ParameterSet& parameters_;
  Optimizer& optimizer_;
  Tape tape_;
  Config config_;
  Tensor totals_;  // (3, 1) float64 on the device: loss, nats, squared norm of the gradient; read
                   // once a step
};

}  // namespace nine
