// One update of the parameters.
#pragma once

#include <memory>
#include <vector>

#include "autograd/tape.h"
#include "nn/training/optimizer.h"

namespace nine {

class UpdateGradient;

/// Numbers (float64) that forward passes add to from update to update, beside gradients. Each
/// micro-batch after an update's first starts from 0, and then all are merged in their order.
struct StepStatistic {
  enum class Merge : uint8_t {
    sum,
    largest,
    average  ///< decay * total + (1 - decay) * part, but the part where the total is 0
  };
  View value;
  Merge merge = Merge::sum;
  double decay = 0;
};

/// Micro-batches and their losses. An update calls fetch(), forward() for each micro-batch,
/// commit(). Between fetch() and commit() all forward() calls can be repeated with the same
/// results.
class TrainingSource {
 public:
  virtual ~TrainingSource() = default;

  /// Takes the next micro-batches, at most `most` (fewer at the end of an epoch, at least one).
  /// Returns the tokens they predict together.
  virtual int64_t fetch(int most) = 0;
  /// How many micro-batches the last fetch took.
  virtual int count() const = 0;
  /// How many tokens weigh as much as one update: those of the last fetch, `fetched`, or more where
  /// it was shorter than the others and each of its tokens should count as one of theirs.
  virtual int64_t weighing_tokens(int64_t fetched) const { return fetched; }

  struct Objective {
    /// A scalar, what is minimised. It is weighted by row_weight, so that the losses of an update's
    /// micro-batches add up to the mean per token (or to as much less as the update weighs less).
    Var loss;
    /// Nats of each position, float64, unweighted, without smoothing and regularisers.
    Var nll;
  };
  /// Records micro-batch i on the tape; those of this process come in order. row_weight = 1 /
  /// weighing_tokens().
  virtual Objective forward(Tape& tape, int i, double row_weight) = 0;
  /// The update has been made: the state after its last micro-batch is kept for the next one.
  virtual void commit() = 0;
  /// Adds to `out` what forward() adds up besides.
  virtual void statistics(std::vector<StepStatistic>& out);
};

/// The numbers of one update.
struct StepResult {
  double loss = 0;       ///< what was minimised, mean per predicted token
  double nll = 0;        ///< nats per predicted token
  double grad_norm = 0;  ///< before clipping, as the update weighs
  int64_t tokens = 0;
  /// What the fastest and the slowest process took for their micro-batches.
  double fastest_s = 0, slowest_s = 0;
};

/// The gradient of an update's micro-batches, clipped and handed to the optimiser.
class TrainStep {
 public:
  struct Config {
    int accumulate = 1;           ///< micro-batches an update
    double clip = 0;              ///< largest gradient norm, 0: none
    uint64_t seed = 1;            ///< of dropout
    bool detect_anomaly = false;  ///< search every tensor of every step for NaN and infinity
    /// Of several processes each computes as many of the micro-batches; null: one process.
    Communicator* communicator = nullptr;
  };
  TrainStep(ParameterSet& parameters, Optimizer& optimizer, Arena& arena, const Config& config);
  ~TrainStep();

  /// Update number `step` (1, 2, ...) at rate `lr`. A loss or gradient that is not finite changes
  /// neither parameters nor carried state: the step is run again with every tensor searched, and
  /// the Error names the op that first gave NaN or infinity. The data has then moved past that
  /// batch.
  StepResult run(TrainingSource& data, int64_t step, double lr);

  Tape& tape() { return tape_; }

 private:
  ParameterSet& parameters_;
  Optimizer& optimizer_;
  Tape tape_;
  Config config_;
  std::unique_ptr<UpdateGradient> gradient_;
};

}  // namespace nine
