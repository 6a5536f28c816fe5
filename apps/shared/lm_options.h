// lm_train's options as one struct, and what they resolve to.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "apps/shared/options.h"
#include "nn/lm_task.h"

namespace nine::app {

struct LmOptions {
  // Data
  std::vector<std::string> train, valid, test;
  bool sample = false;
  int64_t sample_sentences = 20000;
  std::string vocab;
  int64_t vocab_size = 0, min_count = 1;
  // Model
  int64_t layers = 2, hidden = 512, embed = 512;
  double dropout = 0.1;
  bool tie_embeddings = false;
  std::string head = "lin", head_memory = "blocks", head_context, variance, ball;
  bool untied = false;
  bool head_bias = true;
  std::string dtype = "float32";
  std::string init, init_norm = "none", init_bias = "zero";
  double init_norm_scale = 0.1;
  // Batches
  int64_t batch = 32, bptt = 35, batch_tokens = 0;
  bool sentences = false;
  int accumulate = 1;
  // Optimiser
  std::string optimizer = "adam", schedule = "constant";
  double lr = 1e-3, momentum = 0, eps = 1e-8, weight_decay = 0, clip = 1;
  std::array<double, 2> betas{0.9, 0.999};
  int64_t asgd_start = 0, warmup = 0, plateau_patience = 0;
  double plateau_factor = 0.5, min_lr = 1e-6;
  int64_t asgd_trigger = 0;
  // Regularisation
  double dropout_words = 0, dropout_hidden = 0, dropout_output = 0;
  bool variational = false;
  double label_smoothing = 0;
  std::string smoothing = "uniform";
  std::string pi_reg, weight_norm_reg;
  double ar = 0, tar = 0;
  // Run
  std::string run = "runs/lm", tensorboard;
  bool restart = false;
  Amount after{10, AmountUnit::epochs}, valid_every{1, AmountUnit::epochs}, save_every{500, AmountUnit::updates};
  int64_t log_every = 20, early_stop = 0;
  int keep = 2;
  uint64_t seed = 1;
  int threads = 0;
  std::string device = "cpu", precision = "fp32";
  bool profile = false, detect_anomaly = false;
  // Parity with PyTorch
  std::string export_parity;
  int64_t export_steps = 20;

  /// Declares every flag, bound to these fields.
  void declare(Options& options);
  /// What single flags cannot check, and flags that would do nothing beside the others; UsageError.
  void check(const Options& given) const;

  /// --head with what the options beside it fill in.
  HeadSpec head_spec() const;
  LanguageModelConfig model(int64_t vocabulary) const;
  LmBatching batching() const;
  TrainerConfig trainer() const;
};

/// Sets the threads (0: all physical cores), CUDA's precision, and returns the device, which is there; an Error otherwise. For
/// every program.
Device use_machine(int threads, const std::string& device, const std::string& precision = "fp32");

}  // namespace nine::app
