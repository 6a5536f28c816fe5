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

/// What a Trainer trains: a model with its training data, the state between updates, and a
/// validation.
class TrainingTask : public TrainingSource {
 public:
  virtual void start_epoch(int64_t epoch) = 0;  ///< 0, 1, ...
  virtual bool epoch_finished() const = 0;
  /// The part of the current epoch that is done, in [0, 1].
  virtual double epoch_share() const = 0;
  /// Where in the data the next update begins, for checkpoints. seek() goes there.
  virtual Json position() const = 0;
  virtual void seek(const Json& position) = 0;
  /// What is carried from update to update, for checkpoints. All processes call it; rank 0 gets
  /// the state of all.
  virtual std::vector<NamedView> state() = 0;
  /// Copies tensors of those names back, in every process. Error: one is missing or has another
  /// shape.
  virtual void load_state(const Safetensors& file) = 0;
  /// What model.safetensors holds beside the parameters (ParameterSet::ignore_on_load).
  virtual std::vector<NamedView> constants() const { return {}; }
  /// Of a mixture's components in training, since it was last cleared; null without a mixture.
  virtual MixtureWeightStats* mixture_weight_stats() { return nullptr; }
  /// The output layer, for what the log says of it: learned numbers, norms; null where there is
  /// none.
  virtual const SoftmaxHead* head() const { return nullptr; }
  virtual bool has_validation() const = 0;
  /// Evaluates the validation text. Only where has_validation().
  virtual Evaluation validate(Tape& tape) = 0;
  /// More lines for the log after a validation, each an object with `event`; the trainer adds step,
  /// epoch and time.
  virtual std::vector<Json> validation_samples() const;
};

/// The part of a TrainingTask that follows from its data alone: epochs and the position in them.
class EpochTask : public TrainingTask {
 public:
  void start_epoch(int64_t epoch) override { stream_.start_epoch(epoch); }
  bool epoch_finished() const override { return stream_.epoch_finished(); }
  double epoch_share() const override { return stream_.epoch_share(); }
  /// {"epoch": e, "step": s}: s batches of epoch e are done.
  Json position() const override;
  void seek(const Json& position) override;

 protected:
  /// `stream` must outlive the task.
  explicit EpochTask(EpochStream& stream) : stream_(stream) {}

 private:
  EpochStream& stream_;
};

/// What decides which validation is the best: lower nats per token, or higher BLEU.
enum class BestMetric : uint8_t { nll, bleu };
template <>
inline constexpr EnumNames<BestMetric, 2> kEnumNames<BestMetric>{
    "best metric", {{{BestMetric::nll, "nll"}, {BestMetric::bleu, "bleu"}}}};

/// How a Trainer trains: lengths and intervals, optimiser, schedule, checkpoints.
struct TrainerConfig {
  TrainingLength after{10, TrainingUnit::epochs};
  TrainingLength valid_every{1, TrainingUnit::epochs};
  TrainingLength save_every{500, TrainingUnit::updates};
  int64_t log_every = 20;  ///< updates covered by one train event
  int64_t early_stop = 0;  ///< validations without improvement after which training ends; 0: never
  int keep = 2;            ///< checkpoints kept besides the best
  /// The loss is over sampled words: `train` events then say that their numbers are estimates.
  bool sampled = false;
  bool profile = false;  ///< count what updates cost (core/profile.h), validation left out
  TrainStep::Config step;
  OptimizerConfig optimizer;
  /// asgd: interval, in validations, of the NonMonotoneTrigger that begins averaging; 0:
  /// optimizer.average_from decides.
  int64_t average_trigger = 0;
  ScheduleConfig schedule;
  /// Compared by early stopping, plateaus and the trigger too.
  BestMetric best_metric = BestMetric::nll;
};

/// Called by a Trainer: log, messages, progress bar, interruptions; implemented by the program.
class TrainerCallbacks {
 public:
  virtual ~TrainerCallbacks() = default;
  /// A line of log.jsonl. Of several processes only rank 0's callbacks write.
  virtual void event(const Json& line) = 0;
  /// A message for the user.
  virtual void message(const std::string& line) = 0;
  /// Called after every update: the part of `after` that is done, the expected last step, and the
  /// update's numbers as text.
  virtual void progress(double share, int64_t step, int64_t last_step, const std::string& text) = 0;
  /// Whether training should stop now (SIGINT, SIGTERM).
  virtual bool interrupted() = 0;
  /// More files for a checkpoint, such as config.json and dict.txt.
  virtual void add_files(CheckpointFiles& files) = 0;
  /// Called when a validation has been logged.
  virtual void validated() {}
};

/// Runs updates, validates, logs, saves checkpoints and resumes from them. Of several processes
/// (TrainStep::Config::communicator) each has a trainer, and all take the same decisions.
class Trainer {
 public:
  /// All that is referred to must outlive the trainer; `parameters` are allocated with gradients.
  /// `metadata` goes into each model.safetensors. `store` is rank 0's, null in the others.
  Trainer(ParameterSet& parameters, TrainingTask& task, Arena& arena, const TrainerConfig& config,
          CheckpointStore* store, TrainerCallbacks& callbacks,
          std::map<std::string, std::string> metadata);

  /// Continues from a checkpoint of this run, to the same bits as if it had not been interrupted.
  /// Rank 0 has the checkpoint and hands it out; the others pass null. Where the best model's
  /// checkpoint is gone or damaged, which lost_best() then says, run() validates the restored model
  /// first, and it is the best until there is a better one; training itself stays as it was.
  void restore(const Checkpoint* checkpoint);
  /// What happened to the best model's checkpoint, empty where it is intact; rank 0 alone knows.
  const std::string& lost_best() const { return lost_best_; }

  enum class Outcome : uint8_t { finished, interrupted };
  /// Trains until `after`, early stop or an interruption, which saves first.
  Outcome run();

  /// Whether `after` or early stopping has ended the training already.
  bool done() const;
  int64_t step() const { return progress_.step; }
  int64_t updates_here() const { return updates_here_; }  ///< since this object was made
  double epochs() const;   ///< of the whole run, with the part of the current one that is done
  double seconds() const;  ///< of the whole run
  Tape& tape() { return step_.tape(); }

  /// The best validation so far, if there was one. Without validation text the latest checkpoint is
  /// the best.
  struct Best {
    double ppl = INFINITY, nll = INFINITY;
    int64_t step = 0;
    std::optional<double> bleu = {};
    double metric = INFINITY;  ///< what was compared; lower is better
  };
  const Best& best() const { return best_; }
  bool stopped_early() const { return progress_.stopped_early; }

 private:
  // Everything that decides what comes next, besides tensors; written into state.json.
  struct Progress {
    int64_t step = 0, epoch = 0, tokens = 0;  // epochs completed
    int64_t validations = 0, saves = 0;       // how often `valid_every` and `save_every` were due
    int64_t validated_step = -1;
    int64_t bad = 0;               // validations since the best one
    double due_metric = INFINITY;  // the best of the validations that were due
    bool stopped_early = false;
  };
  // Sums over the updates since the last train event.
  struct Window {
    int64_t updates = 0, tokens = 0;
    double loss = 0, nll = 0, grad_norm = 0, seconds = 0;
    double fastest_s = 0, slowest_s = 0;  // of the processes' micro-batches
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
  NonMonotoneTrigger trigger_;
  Progress progress_;
  Window window_;
  Best best_;
  double seconds_before_ = 0, started_ = 0;
  int64_t saved_step_ = -1, updates_here_ = 0;
  bool best_is_lost_ = false;
  std::string lost_best_;
};

/// Peak memory so far in MiB. CPU: the process's maximum resident set. GPU: the arena's peak plus
/// the slabs of parameters, gradients and optimiser (which may be null).
double peak_memory_mib(const Arena& arena, const ParameterSet& parameters,
                       const Optimizer* optimizer);

}  // namespace nine
