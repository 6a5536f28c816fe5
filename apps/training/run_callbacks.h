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
  /// `unigram_ppl`: of the validation text by word frequencies alone; a model that is no better
  /// after an epoch gets a message that says what may help.
  RunCallbacks(RunDirectory& run, ExtraFiles files, std::optional<double> unigram_ppl)
      : run_(run),
        files_(std::move(files)),
        unigram_ppl_(unigram_ppl),
        progress_("train", "updates") {}

  /// From now on events go to TensorBoard's files in `directory` too. Throws Error when they cannot
  /// be written.
  void mirror_to_tensorboard(const std::string& directory, const Json& config);

  void event(const Json& line) override;
  void message(const std::string& line) override { progress_.message(line); }
  void progress(double share, int64_t step, int64_t last_step, const std::string& text) override;
  bool interrupted() override;
  void add_files(CheckpointFiles& files) override;
  /// Writes the report; if it cannot be written, a message says so and the run goes on.
  void validated() override;

  void finish() { progress_.finish(); }

 private:
  void warn_of_unigram(const Json& valid);

  RunDirectory& run_;
  ExtraFiles files_;
  std::optional<double> unigram_ppl_;
  Progress progress_;
  std::unique_ptr<TensorBoard> tensorboard_;
};

}  // namespace nine::app
