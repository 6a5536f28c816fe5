// The options that both trainers have: vocabulary, head, regularisation, optimiser, run, parity;
// and what they resolve to.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "apps/cli/machine.h"
#include "apps/cli/option_conflicts.h"
#include "apps/cli/unknown_words.h"
#include "apps/training/option_types.h"
#include "core/matmul_precision.h"
#include "data/vocabulary.h"
#include "kernels/settings/head_config.h"
#include "nn/training/trainer.h"
#include "nn/transformer_style.h"

namespace nine {

namespace app {
/// How the norms of the head's word vectors, and its bias, are initialised: as the rest of the
/// model, or by the words' counts in the training text.
enum class InitialNorm : uint8_t { none, log_frequency };
enum class InitialBias : uint8_t { zero, log_frequency };
}  // namespace app

template <>
inline constexpr EnumNames<app::InitialNorm, 2> kEnumNames<app::InitialNorm>{
    "initial norm",
    {{{app::InitialNorm::none, "none"}, {app::InitialNorm::log_frequency, "log-frequency"}}}};
template <>
inline constexpr EnumNames<app::InitialBias, 2> kEnumNames<app::InitialBias>{
    "initial bias",
    {{{app::InitialBias::zero, "zero"}, {app::InitialBias::log_frequency, "log-frequency"}}}};

}  // namespace nine

namespace nine::app {

/// Throws a UsageError unless the text is names of parameters, or patterns, with commas between.
void check_name_patterns(const std::string& text);

/// Sentences, or pairs, of the validation and of the test text of --sample.
inline constexpr int64_t kSampleHeldOut = 1000;

/// Declares the flags of the head's settings that regularise, or of the others, but for those whose
/// names `but` lists.
void declare_head_settings(Options& options, HeadSettings& settings, bool regularising,
                           const std::vector<std::string>& but = {});

/// Declares the flags of a Transformer's style and --recompute. `before` stands in front of each
/// help text. Without `learned_positions` the program refuses these.
void declare_style(Options& options, TransformerStyle& style, bool& recompute,
                   const std::string& before = "", bool learned_positions = true);
/// Checks a style against --hidden and --heads, and that no flag is without effect. Throws
/// UsageError.
void check_style(const Options& given, const TransformerStyle& style, int64_t hidden,
                 int64_t heads);

/// The head's settings are kernels/settings/head_config.h's; their flags are declared here.
struct TrainOptions : HeadSettings {
  virtual ~TrainOptions() = default;

  // Data
  int64_t vocab_size = 0, min_count = 1;
  double max_unknown = kMaxUnknown;
  std::vector<std::string> token_weights;
  std::string class_weights;
  // Model
  DType dtype = DType::float32;
  std::string init, freeze;
  InitialNorm init_norm = InitialNorm::none;
  InitialBias init_bias = InitialBias::zero;
  double init_norm_scale = 0.1;
  // Batches
  int accumulate = 1;
  // Optimiser
  OptimizerKind optimizer = OptimizerKind::adam;
  ScheduleKind schedule = ScheduleKind::constant;
  double lr = 1e-3, momentum = 0, eps = 1e-8, weight_decay = 0, clip = 1;
  std::array<double, 2> betas{0.9, 0.999};
  bool lazy_adam = false;
  int64_t asgd_start = 0, warmup = 0, plateau_patience = 0;
  double plateau_factor = 0.5, min_lr = 1e-6, wsd_fall = 0.2;
  TrainingLength schedule_length{0, TrainingUnit::updates};
  int64_t asgd_trigger = 0;
  // Run
  std::string run, tensorboard;
  bool restart = false, other_gpu = false;
  TrainingLength after{10, TrainingUnit::epochs}, valid_every{1, TrainingUnit::epochs},
      save_every{500, TrainingUnit::updates};
  int64_t log_every = 20, early_stop = 0;
  int keep = 2;
  uint64_t seed = 1;
  int threads = 0;
  double mpi_timeout = 600;
  std::string device = "cpu";
  MatmulPrecision precision = MatmulPrecision::highest;
  bool profile = false, detect_anomaly = false;
  // Parity with PyTorch
  std::string export_parity;
  int64_t export_steps = 20;

  virtual TrainerConfig trainer() const;
  /// Where and how to compute, for on_machines().
  MachineFlags machine() const {
    return {
        .threads = threads, .device = device, .precision = precision, .mpi_timeout_s = mpi_timeout};
  }
  /// What may help a model that is still at the word frequencies after an epoch, of what this run
  /// does not do yet: "a lower --lr or --warmup".
  std::string help_to_start() const;
  /// Sentences about options that a training of so many updates is too short for: --warmup,
  /// --asgd-start, --log-every.
  std::vector<std::string> unreached(int64_t updates) const;
  /// A sentence about a --schedule-length that is not --after, in the same unit; empty if it is.
  std::string length_of_fall() const;
  /// What --accumulate means for the processes of this run. UsageError: it cannot be shared out
  /// among so many; a run of several that only one can make.
  void check_processes(const Communicator& communicator) const;
  bool has_weights() const { return !token_weights.empty() || !class_weights.empty(); }
  /// Returns the weights of a training text's tokens (--token-weights times --class-weights), whose
  /// `ids` are in the order of its lines; `lines` and `tokens` as in read_token_weights().
  std::vector<double> weights(std::span<const int32_t> ids, const Vocabulary& vocabulary,
                              int64_t lines, const std::function<int64_t(int64_t)>& tokens) const;
  /// Of the vocabularies that are built from the training text.
  VocabularyLimits vocabulary_limits() const {
    return {.min_count = min_count, .size = vocab_size};
  }
  /// Gives a fresh head (SoftmaxHead or a model with its functions) the norms and the bias that
  /// --init-norm and --init-bias select. counts: of its words in training.
  template <class Head>
  void initialise_head(const Head& fresh, std::span<const int64_t> counts) const {
    if (init_norm == InitialNorm::log_frequency)
      fresh.set_norms_by_frequency(counts, init_norm_scale);
    if (init_bias == InitialBias::log_frequency) fresh.set_bias_by_frequency(counts);
  }

 protected:
  // Sets, after parsing, defaults that depend on the optimiser and the schedule.
  void resolve_optimiser(const Options& given);
  // Declare flags, bound to these fields, in the group that is open.
  void declare_vocabulary_limits(Options& options, const char* size_help);
  /// `text`: the flag of the text whose tokens have the weights.
  void declare_weights(Options& options, const char* text);
  void declare_head(Options& options);
  void declare_head_regularisation(Options& options);
  void declare_accumulation(Options& options);
  // The same, each with a group of its own.
  void declare_optimiser(Options& options);
  void declare_run(Options& options);
  void declare_parity(Options& options);

  /// Checks flags against each other, and that none is without effect. Throws UsageError. width:
  /// size of the head's context vectors. valid: the flags that name validation text. has_valid:
  /// whether there is any.
  void check_shared(const Options& given, int64_t width, const std::string& valid,
                    bool has_valid) const;
  /// Checks that no option is given that --export-parity leaves without effect: those that ask for
  /// work or files besides the steps, and `texts`, the flags that only validation and test need.
  /// --run and the intervals of a run may be given: say_exported() says that no run was written.
  void check_export(const Options& given, const std::vector<std::string>& texts) const;

 private:
  void check_initialisation() const;
  void check_averaging(const std::string& valid, bool has_valid) const;
  void check_lazy_adam() const;
  void check_freeze() const;
};

}  // namespace nine::app
