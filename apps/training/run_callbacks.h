// The TrainerCallbacks of the training programs: run directory, progress bar, signals, report.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "apps/cli/progress.h"
#include "apps/report/tensorboard.h"
#include "apps/training/run_directory.h"
#include "nn/training/trainer.h"

namespace nine::app {

/// Writes a run's log and report, shows its progress, and stops it on SIGINT or SIGTERM.
class RunCallbacks : public TrainerCallbacks {
 public:
  /// Files that every checkpoint gets besides the trainer's: name and content.
  using ExtraFiles = std::vector<std::pair<std::string, std::string>>;
  /// The perplexity of the validation text by word frequencies alone, and what may help a model
  /// that is not better by 5% after an epoch: a message says so, once for as long as it stays
  /// there.
  struct Unigram {
    double ppl;
    std::string help;
    int64_t warmup = 0;  ///< until this update the learning rate rises, and that is said instead
  };
  RunCallbacks(RunDirectory& run, ExtraFiles files, std::optional<Unigram> unigram)
      : run_(run),
        files_(std::move(files)),
        unigram_(std::move(unigram)),
        progress_("train", "updates") {}

  /// From now on events go to TensorBoard's files in `directory` too. Throws Error when they cannot
  /// be written. An error later does not end the run: a message says so, and it goes on without.
  void mirror_to_tensorboard(const std::string& directory, const Json& config);
  /// Gives TensorBoard what the log has by now, if it has nothing of this run. Before any event().
  void copy_log_to_tensorboard();

  void event(const Json& line) override;
  void message(const std::string& line) override { progress_.message(line); }
  void progress(double share, int64_t step, int64_t last_step, const std::string& text) override;
  bool interrupted() override;
  void add_files(CheckpointFiles& files) override;
  /// Warns of a model at the word frequencies, and writes the report; if it cannot be written, a
  /// message says so and the run goes on.
  void validated() override;

  /// True if the last validated() wrote the report.
  bool has_report() const { return has_report_; }

  void finish() { progress_.finish(); }

 private:
  void to_tensorboard(const std::function<void(TensorBoard&)>& write);

  RunDirectory& run_;
  ExtraFiles files_;
  std::optional<Unigram> unigram_;
  int64_t validated_step_ = 0;
  bool at_unigram_ = false, warned_ = false;  // at the last validation; of this stay there
  bool has_report_ = false;
  Progress progress_;
  std::unique_ptr<TensorBoard> tensorboard_;
};

}  // namespace nine::app
