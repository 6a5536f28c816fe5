// The options that both trainers have: head, regularisation, optimiser, run, parity; and what they
// resolve to.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "apps/cli/option_conflicts.h"
#include "kernels/head_config.h"
#include "nn/training/trainer.h"

namespace nine::app {

/// The head's settings are kernels/head_config.h's; their flags are declared here.
struct TrainOptions : HeadSettings {
  virtual ~TrainOptions() = default;

  // Model
  std::string dtype = "float32", init, init_norm = "none", init_bias = "zero";
  double init_norm_scale = 0.1;
  // Batches
  int accumulate = 1;
  // Optimiser
  std::string optimizer = "adam", schedule = "constant";
  double lr = 1e-3, momentum = 0, eps = 1e-8, weight_decay = 0, clip = 1;
  std::array<double, 2> betas{0.9, 0.999};
  int64_t asgd_start = 0, warmup = 0, plateau_patience = 0;
  double plateau_factor = 0.5, min_lr = 1e-6;
  int64_t asgd_trigger = 0;
  // Run
  std::string run, tensorboard;
  bool restart = false;
  TrainingLength after{10, TrainingUnit::epochs}, valid_every{1, TrainingUnit::epochs},
      save_every{500, TrainingUnit::updates};
  int64_t log_every = 20, early_stop = 0;
  int keep = 2;
  uint64_t seed = 1;
  int threads = 0;
  std::string device = "cpu", precision = "fp32";
  bool profile = false, detect_anomaly = false;
  // Parity with PyTorch
  std::string export_parity;
  int64_t export_steps = 20;

  virtual TrainerConfig trainer() const;

 protected:
  // Declare flags, bound to these fields, in the group that is open.
  void declare_head(Options& options);
  void declare_head_regularisation(Options& options);
  void declare_accumulation(Options& options);
  // The same, each with a group of its own.
  void declare_optimiser(Options& options);
  void declare_run(Options& options);
  void declare_parity(Options& options);

  /// A flag that would do nothing beside the others.
  struct Idle {
    const char* flag;
    bool useful;
    const char* needs;
  };
  /// What single flags cannot check, and flags that would do nothing, these and `more`; UsageError.
  /// `width`: of what the head sees; `valid`: the flag that brings validation text, and whether
  /// there is any.
  void check_shared(const Options& given, int64_t width, const std::string& valid, bool has_valid,
                    const std::vector<Idle>& more) const;
};

/// Sets the threads (0: all physical cores) and returns the device, which is there; an Error
/// otherwise. For every program.
Device use_machine(int threads, const std::string& device, const std::string& precision = "fp32");

}  // namespace nine::app
