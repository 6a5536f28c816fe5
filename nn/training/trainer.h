// The training loop: updates, validation, early stopping, checkpoints, resuming.
#pragma once

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/communicator.h"
#include "core/enum_names.h"
#include "core/json.h"
#include "data/batch_stream.h"
#include "nn/softmax_head.h"
#include "nn/training/checkpoint.h"
#include "nn/training/mixture_weight_stats.h"
#include "nn/training/schedule.h"
#include "nn/training/train_step.h"
#include "nn/training/training_length.h"

namespace nine {

/// The interface of what a Trainer trains: a model with its training data, the state between
/// updates, and a validation.
class TrainingTask : public TrainingSource {
 public:
  virtual void start_epoch(int64_t epoch) = 0;  ///< 0, 1, ...
  virtual bool epoch_finished() const = 0;
  /// Returns the finished part of the current epoch, in [0, 1].
  virtual double epoch_share() const = 0;
  /// Returns where in the data the next update begins, for checkpoints. seek() goes there.
  virtual Json position() const = 0;
  virtual void seek(const Json& position) = 0;
  /// Returns the state that is carried from update to update, for checkpoints. All processes call
  /// it; rank 0 gets the state of all processes.
  virtual std::vector<NamedView> state() = 0;
  /// Copies tensors with these names back, in every process. Error: a tensor is missing or has
  /// another shape.
  virtual void load_state(const Safetensors& file) = 0;
  /// Returns the tensors of model.safetensors that are not parameters
  /// (ParameterSet::ignore_on_load).
  virtual std::vector<NamedView> constants() const { return {}; }
  /// Returns the sums of a mixture's component weights in training, since they were last cleared;
  /// null without a mixture.
  virtual MixtureWeightStats* mixture_weight_stats() { return nullptr; }
  /// Returns the output layer, whose learned numbers and norms go into the log; null without an
  /// output layer.
  virtual const SoftmaxHead* head() const { return nullptr; }
  virtual bool has_validation() const = 0;
  /// Evaluates the validation text. Requires has_validation().
  virtual Evaluation validate(Tape& tape) = 0;
  /// Returns more lines for the log after a validation, each an object with `event`. The trainer
  /// adds step, epoch and time.
  virtual std::vector<Json> validation_samples() const;
};

/// The part of a TrainingTask that depends on its data alone: epochs, and the position in them.
class EpochTask : public TrainingTask {
 public:
  void start_epoch(int64_t epoch) override { stream_.start_epoch(epoch); }
  bool epoch_finished() const override { return stream_.epoch_finished(); }
  double epoch_share() const override { return stream_.epoch_share(); }
  /// Returns {"epoch": e, "step": s}: s batches of epoch e are done.
  Json position() const override;
  void seek(const Json& position) override;

 protected:
  /// `stream` must outlive the task.
  explicit EpochTask(EpochStream& stream) : stream_(stream) {}

 private:
  EpochStream& stream_;
};

/// The measure that decides which validation is the best: lower nats per token, or higher BLEU.
enum class BestMetric : uint8_t { nll, bleu };
template <>
inline constexpr EnumNames<BestMetric, 2> kEnumNames<BestMetric>{
    "best metric", {{{BestMetric::nll, "nll"}, {BestMetric::bleu, "bleu"}}}};

/// The settings of a Trainer: lengths and intervals, optimiser, schedule, checkpoints.
struct TrainerConfig {
  TrainingLength after{10, TrainingUnit::epochs};
  TrainingLength valid_every{1, TrainingUnit::epochs};
  TrainingLength save_every{500, TrainingUnit::updates};
  int64_t log_every = 20;  ///< updates per `train` event
  int64_t early_stop = 0;  ///< validations without improvement after which training ends; 0: never
  int keep = 2;            ///< checkpoints kept besides the best
  /// True: the loss is over sampled words, and `train` events say that their numbers are estimates.
  bool sampled = false;
  bool profile = false;  ///< true: count the cost of updates (core/profile.h), without validation
  TrainStep::Config step;
  OptimizerConfig optimizer;
  /// asgd: interval, in validations, of the NonMonotoneTrigger that begins averaging. 0:
  /// optimizer.average_from decides.
  int64_t average_trigger = 0;
  ScheduleConfig schedule;
  /// cosine, linear, wsd: the length over which the rate falls; 0: `after`.
  TrainingLength schedule_length{0, TrainingUnit::updates};
  /// Also compared by early stopping, plateaus and the trigger.
  BestMetric best_metric = BestMetric::nll;
};

/// The calls from a Trainer to the program: log, messages, progress bar, interruptions.
class TrainerCallbacks {
 public:
  virtual ~TrainerCallbacks() = default;
  /// Receives a line of log.jsonl. With several processes only rank 0's callbacks write.
  virtual void event(const Json& line) = 0;
  /// Receives a message for the user.
  virtual void message(const std::string& line) = 0;
  /// Called after every update. share: the finished part of `after`; last_step: the expected last
  /// step; text: the update's numbers.
  virtual void progress(double share, int64_t step, int64_t last_step, const std::string& text) = 0;
  /// True if training should stop now (SIGINT, SIGTERM).
  virtual bool interrupted() = 0;
  /// Adds more files to a checkpoint, such as config.json and dict.txt.
  virtual void add_files(CheckpointFiles& files) = 0;
  /// Called after a validation has been logged.
  virtual void validated() {}
};

/// Runs updates, validates, logs, saves checkpoints and resumes from them. With several processes
/// (TrainStep::Config::communicator) each has a trainer, and all trainers take the same decisions.
class Trainer {
 public:
  /// All referenced objects must outlive the trainer; `parameters` must be allocated with
  /// gradients. `metadata` goes into each model.safetensors. `store` is null on all ranks but rank
  /// 0.
  Trainer(ParameterSet& parameters, TrainingTask& task, Arena& arena, const TrainerConfig& config,
          CheckpointStore* store, TrainerCallbacks& callbacks,
          std::map<std::string, std::string> metadata);

  /// Continues from a checkpoint of this run, to the same bits as without an interruption. Rank 0
  /// has the checkpoint and sends it to the others, which pass null. If the best model's checkpoint
  /// is missing or damaged, lost_best() says so. run() then first validates the restored model,
  /// which counts as the best until a better one is found; training itself does not change.
  void restore(const Checkpoint* checkpoint);
  /// Returns the problem of the best model's checkpoint; "" if it is intact. Only rank 0 knows it.
  const std::string& lost_best() const { return lost_best_; }

  enum class Outcome : uint8_t { finished, interrupted };
  /// Trains until `after`, until early stopping, or until an interruption. Saves before it returns
  /// from an interruption.
  Outcome run();

  /// True if `after` or early stopping has already ended the training.
  bool done() const;
  int64_t step() const { return progress_.step; }
  /// Returns the number of updates since this object was made.
  int64_t updates_here() const { return updates_here_; }
  /// Returns the epochs of the whole run, including the finished part of the current epoch.
  double epochs() const;
  double share_of(const TrainingLength& length) const;  // of a length, the part that is done
  double next_rate() const;
  double seconds() const;  ///< seconds of the whole run
  Tape& tape() { return step_.tape(); }

  /// The best validation so far, if any. Without validation text the latest checkpoint is the best.
  struct Best {
    double ppl = INFINITY, nll = INFINITY;
    int64_t step = 0;
    std::optional<double> bleu = {};
    double metric = INFINITY;  ///< the compared number; lower is better
  };
  const Best& best() const { return best_; }
  bool stopped_early() const { return progress_.stopped_early; }

 private:
  // The numbers, besides tensors, that determine how the run continues; written into state.json.
  struct Progress {
    int64_t step = 0, epoch = 0, tokens = 0;  // epochs completed
    int64_t validations = 0, saves = 0;       // how often `valid_every` and `save_every` were due
    int64_t validated_step = -1;
    int64_t bad = 0;               // validations since the best one
    double due_metric = INFINITY;  // the best of the validations that were due
    bool stopped_early = false;
  };
  // Sums over the updates since the last `train` event.
  struct Window {
    int64_t updates = 0, tokens = 0;
    double loss = 0, nll = 0, grad_norm = 0, seconds = 0;
    double fastest_s = 0, slowest_s = 0;  // of the processes' micro-batches
  };

  // The last `train` event, by which a log is known to be this run's.
  struct Logged {
    int64_t step = 0;
    double nll = 0;
  };

  void find_best();
  void replace_lost_best();
  void one_update();
  Json state() const;
  void save_files(CheckpointFiles& files);
  void restore_state(const Json& state);
  void log_window(double lr);
  void clear_window();
  bool due(const TrainingLength& every, int64_t& count) const;
  bool validate(bool due);
  double metric_of(const Evaluation& result) const;
  void save(bool is_best);
  void stamp(Json& line) const;

  ParameterSet& parameters_;
  TrainingTask& task_;
  TrainerConfig config_;
  Communicator& communicator_;
  CheckpointStore* store_;
  TrainerCallbacks& callbacks_;
  std::map<std::string, std::string> metadata_;
  std::unique_ptr<Optimizer> optimizer_;
  TrainStep step_;
  Schedule schedule_;
  double rate_ = 0;  // of the last update
  NonMonotoneTrigger trigger_;
  Progress progress_;
  bool said_skip_ = false;  // that --head-skip leaves out much
  Window window_;
  Logged logged_;
  Best best_;
  double seconds_before_ = 0, started_ = 0;
  int64_t saved_step_ = -1, updates_here_ = 0;
  bool best_is_lost_ = false;
  std::string lost_best_;
};

/// Returns the peak memory so far in MiB. CPU: the process's maximum resident set. GPU: the arena's
/// peak plus the slabs of parameters, gradients and optimiser (which may be null).
double peak_memory_mib(const Arena& arena, const ParameterSet& parameters,
                       const Optimizer* optimizer);

}  // namespace nine
