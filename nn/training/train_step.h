// One update of the parameters.
#pragma once

#include <memory>
#include <vector>

#include "autograd/tape.h"
#include "nn/training/optimizer.h"

namespace nine {

class UpdateGradient;

/// A float64 tensor that forward passes change, such as a running maximum of norms. An update's
/// first micro-batch continues from the tensor's value. Each later micro-batch starts from 0, and
/// its part is then merged into the value, in the order of the micro-batches.
struct StepStatistic {
  enum class Merge : uint8_t {
    sum,
    largest,
    average  ///< decay * total + (1 - decay) * part; the part alone while the total is 0
  };
  View value;
  Merge merge = Merge::sum;
  double decay = 0;
};

/// Provides micro-batches and their losses. An update calls fetch(), then forward() for each
/// micro-batch, then commit(). Between fetch() and commit() all forward() calls can be repeated
/// with the same results.
class TrainingSource {
 public:
  virtual ~TrainingSource() = default;

  /// Takes the next micro-batches: at most `most`, fewer at the end of an epoch, at least one.
  /// Returns the number of tokens that they predict together.
  virtual int64_t fetch(int most) = 0;
  /// Returns the number of micro-batches in the last fetch.
  virtual int count() const = 0;
  /// Returns the number by which the update divides the summed loss. The default is `fetched`, the
  /// tokens of the last fetch. Override it to return the tokens of a full fetch: then a token of a
  /// short fetch has the same weight as other tokens.
  virtual int64_t weighing_tokens(int64_t fetched) const { return fetched; }

  struct Objective {
    /// The scalar to minimise, weighted by row_weight. The losses of an update's micro-batches then
    /// add up to the mean per token (or to less, if weighing_tokens() is larger than the fetch).
    Var loss;
    /// A number for each position: -log p in nats, float64, unweighted, without smoothing and
    /// regularisers; 0 without a target.
    Var nll;
  };
  /// Records micro-batch i on the tape. A process asks for its micro-batches in order. row_weight =
  /// 1 / weighing_tokens().
  virtual Objective forward(Tape& tape, int i, double row_weight) = 0;
  /// Ends the update: keeps the state after its last micro-batch for the next update.
  virtual void commit() = 0;
  /// Appends the statistics that forward() accumulates besides gradients.
  virtual void statistics(std::vector<StepStatistic>& out);
};

/// The results of one update.
struct StepResult {
  double loss = 0;       ///< the minimised loss, mean per predicted token
  double nll = 0;        ///< nats per predicted token
  double grad_norm = 0;  ///< norm of the gradient of the summed Objective::loss, before clipping
  int64_t tokens = 0;
  /// Seconds that the fastest and the slowest process needed for their micro-batches.
  double fastest_s = 0, slowest_s = 0;
};

/// Makes updates: sums the gradients of an update's micro-batches, clips the sum and gives it to
/// the optimiser. `parameters`, `optimizer` and `arena` must outlive the object; `arena` is on the
/// parameters' device.
class TrainStep {
 public:
  struct Config {
    int accumulate = 1;           ///< micro-batches of an update, of all processes together
    double clip = 0;              ///< largest gradient norm; 0: no clipping
    uint64_t seed = 1;            ///< of dropout
    bool detect_anomaly = false;  ///< search every tensor of every step for NaN and infinity
    /// With several processes, each computes an equal part of the micro-batches. null: one process.
    Communicator* communicator = nullptr;
  };
  TrainStep(ParameterSet& parameters, Optimizer& optimizer, Arena& arena, const Config& config);
  ~TrainStep();

  /// Makes update number `step` (1, 2, ...) at learning rate `lr`. Error: a loss or gradient that
  /// is not finite. Before the Error, the micro-batches run again with every tensor searched, so
  /// that the message names the op that first gave NaN or infinity. Parameters and carried state
  /// then stay as they were, commit() is not called, and the next run() continues with the next
  /// fetch().
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
