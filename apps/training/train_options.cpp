#include "apps/training/train_options.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/cli/machine.h"
#include "apps/cli/option_data.h"
#include "apps/cli/option_values.h"
#include "apps/cli/text_io.h"
#include "core/quote.h"
#include "data/token_weights.h"
#include "kernels/settings/head_misfit.h"

namespace nine::app {

void declare_head_settings(Options& o, HeadSettings& settings, bool regularising,
                           const std::vector<std::string>& but) {
  for (const HeadSetting& setting : head_settings()) {
    if (setting.regularises != regularising) continue;
    if (std::find(but.begin(), but.end(), setting.name) != but.end()) continue;
    Option option = std::visit(
        [&](auto member) { return o.add(flag_of(setting.name), settings.*member, setting.help); },
        setting.member);
    if (std::holds_alternative<double HeadSettings::*>(setting.member))
      option.range(setting.low, setting.high);
    if (!setting.choices.empty()) option.choices(setting.choices);
    if (setting.check != nullptr) option.check(setting.check);
    if (*setting.words != '\0') option.called(setting.words);
    if (*setting.unit != '\0') option.unit(setting.unit);
    if (*setting.default_text != '\0') option.default_text(setting.default_text);
  }
}

void declare_style(Options& o, TransformerStyle& style, bool& recompute, const std::string& before,
                   bool learned_positions) {
  for (const StyleSetting& setting : style_settings()) {
    Option option = std::visit(
        [&](auto member) {
          return o.add(flag_of(setting.name), style.*member, before + setting.help);
        },
        setting.member);
    option.called(setting.words);
    if (std::string_view(setting.name) == "positions" && !learned_positions)
      option.choices({to_text(Positions::sinusoidal), to_text(Positions::rotary)});
    if (std::holds_alternative<double TransformerStyle::*>(setting.member)) option.above(0);
    if (std::holds_alternative<int64_t TransformerStyle::*>(setting.member)) option.range(0, 1024);
    if (*setting.default_text != '\0') option.default_text(setting.default_text);
  }
  o.add("recompute", recompute,
        before +
            "compute the activations of a layer again in the backward pass instead of keeping "
            "them: less memory, the same bits");
}

void check_style(const Options& given, const TransformerStyle& style, int64_t hidden,
                 int64_t heads) {
  require_usage(hidden % heads == 0, "--hidden ", hidden, " is not divisible by --heads ", heads);
  require_usage(style.positions != Positions::sinusoidal || hidden % 2 == 0, "--hidden ", hidden,
                ": sinusoidal positions come in pairs, so --hidden must be even");
  require_usage(style.positions != Positions::rotary || hidden / heads % 2 == 0, "--hidden ",
                hidden, " and --heads ", heads, " make heads of ", hidden / heads,
                " numbers: rotary positions rotate pairs, so --hidden / --heads must be even");
  require_usage(style.kv_heads == 0 || heads % style.kv_heads == 0, "--kv-heads ", style.kv_heads,
                " does not divide --heads ", heads);
  for (const StyleSetting& setting : style_settings())
    if (setting.has_effect != nullptr)
      refuse_idle_flags(given, {{flag_of(setting.name), setting.has_effect(style), setting.needs}});
}

void check_name_patterns(const std::string& text) {
  const bool sound = text.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._*?,"
                         "[]!-") == std::string::npos &&
                     !text.starts_with(',') && !text.ends_with(',') &&
                     text.find(",,") == std::string::npos;
  require_usage(
      sound,
      "must be names of parameters, separated by commas, such as embedding.weight,lstm.*, not ",
      quote(text));
}

namespace {

// Error: two of the files to read are one stream.
void check_streams(const OptionList& options) {
  std::vector<std::string> flags;
  std::vector<NamedFile> files;
  flags.reserve(options.size());
  for (const OptionData* option : options) {
    if (!option->unit.starts_with("FILE")) continue;
    const char* flag = flags.emplace_back(option->typed()).c_str();
    if (const auto* one = std::get_if<std::string*>(&option->field)) files.push_back({flag, **one});
    if (const auto* many = std::get_if<std::vector<std::string>*>(&option->field))
      for (const std::string& file : **many) files.push_back({flag, file});
  }
  check_inputs(files);
}

}  // namespace

void TrainOptions::declare_vocabulary_limits(Options& o, const char* size_help) {
  o.add("vocab-size", vocab_size, size_help).at_least(0).unit("words").called("vocabulary size");
  o.add("min-count", min_count, "words that occur less often in the training text become <unk>")
      .at_least(1)
      .unit("times")
      .called("minimum count");
  add_max_unknown(o, max_unknown);
}

void TrainOptions::declare_weights(Options& o, const char* text) {
  o.add("token-weights", token_weights,
        concat("weights of the tokens of ", text,
               " in the loss, line by line: a number for each "
               "word and one for the line's </s>"))
      .unit("FILE...");
  o.add("class-weights", class_weights,
        "weights of words in the loss: a word and a number a line; other words have the weight 1")
      .unit("FILE");
}

std::vector<double> TrainOptions::weights(std::span<const int32_t> ids,
                                          const Vocabulary& vocabulary, int64_t lines,
                                          const std::function<int64_t(int64_t)>& tokens) const {
  std::vector<double> out(ids.size(), 1);
  if (!token_weights.empty()) out = read_token_weights(token_weights, lines, tokens);
  if (!class_weights.empty()) {
    const std::vector<double> of_word = read_class_weights(class_weights, vocabulary);
    for (size_t i = 0; i < ids.size(); ++i) out[i] *= of_word[static_cast<size_t>(ids[i])];
  }
  require_trainable(out, token_weights.empty() ? "" : token_weights.front(), class_weights);
  return out;
}

void TrainOptions::declare_head(Options& o) {
  declare_head_settings(o, *this, false);
  o.add("dtype", dtype, "number type of the weights and the arithmetic");
  o.add("init", init, "start from the weights of this checkpoint").unit("DIR");
  o.add("freeze", freeze,
        "parameters that are not trained: names as in model.safetensors, separated by commas; * "
        "matches any text, ? any character")
      .check(check_name_patterns)
      .unit("NAMES")
      .default_text("none");
  o.add("init-norm", init_norm,
        "initial norms of the output word vectors; log-frequency: --init-norm-scale times the log "
        "of the word's count in training");
  o.add("init-bias", init_bias,
        "initial output bias: zero; or log-frequency, the log of the word's share of the training "
        "text");
  o.add("init-norm-scale", init_norm_scale, "factor of --init-norm log-frequency").above(0);
}

void TrainOptions::declare_head_regularisation(Options& o) {
  declare_head_settings(o, *this, true);
}

void TrainOptions::declare_accumulation(Options& o) {
  o.add("accumulate", accumulate,
        "number of batches whose gradients are added for an update; under mpirun, the processes "
        "share these batches")
      .range(1, 65535)
      .called("accumulation steps");
}

void TrainOptions::declare_optimiser(Options& o) {
  o.group("Optimiser");
  o.add("optimizer", optimizer,
        "algorithm that updates the weights; muon orthogonalises the updates of linear maps and "
        "updates all other weights as adamw")
      .called("optimizer");
  o.add("lr", lr, "learning rate").above(0).called("learning rate");
  o.add("momentum", momentum, "sgd, asgd: momentum; muon: by default 0.95").range_from(0, 1);
  o.add("betas", betas,
        "adam, adamw, muon: decay rates of the two moments; lion: of the update and of the moment, "
        "by default 0.9,0.99")
      .range_from(0, 1);
  o.add("eps", eps, "adam, adamw, muon: added to the root of the second moment").above(0);
  o.add("lazy-adam", lazy_adam,
        "adam with --sampled-softmax: update only the words that were drawn or are in the batch; "
        "other words keep their moments")
      .called("lazy Adam");
  o.add("weight-decay", weight_decay,
        "factor of the L2 penalty in the gradient; adamw, lion, muon: decoupled weight decay")
      .at_least(0)
      .called("weight decay");
  o.add("clip", clip, "largest norm of the gradient; 0: no clipping")
      .at_least(0)
      .called("gradient clipping");
  o.add("asgd-start", asgd_start, "asgd: number of updates before averaging begins")
      .at_least(0)
      .unit("updates");
  o.add("asgd-trigger", asgd_trigger,
        "asgd: averaging begins when a validation is worse than the best of all validations before "
        "the last N; 0: --asgd-start decides")
      .at_least(0)
      .unit("validations");
  o.add("schedule", schedule,
        "how the learning rate changes; cosine and linear fall to --min-lr after the warm-up, wsd "
        "(warm-up, stable, decay) falls at the end")
      .called("schedule");
  o.add("schedule-length", schedule_length,
        "cosine, linear, wsd: length after which the learning rate is --min-lr; 0u: --after")
      .default_text("--after");
  o.add("wsd-fall", wsd_fall, "wsd: share of the length over which the learning rate falls")
      .range(1e-6, 1);
  o.add("warmup", warmup, "number of updates over which the learning rate rises from 0")
      .at_least(0)
      .unit("updates");
  o.add("plateau-factor", plateau_factor,
        "plateau: factor of the learning rate when validation does not improve")
      .range_open(0, 1);
  o.add("plateau-patience", plateau_patience,
        "plateau: validations without improvement before the learning rate falls")
      .at_least(0)
      .unit("validations");
  o.add("min-lr", min_lr,
        "plateau: lowest learning rate; cosine, linear, wsd: last learning rate, by default a "
        "tenth of --lr")
      .above(0);
}

void TrainOptions::declare_run(Options& o) {
  o.group("Run");
  o.add("run", run,
        "directory of the run; if it holds a run with the same settings, this run resumes")
      .unit("DIR");
  o.add("tensorboard", tensorboard, "also write TensorBoard event files to this directory")
      .unit("DIR")
      .default_text("none");
  o.add("restart", restart, "start over; the earlier run is moved to DIR/old-N");
  o.add("other-gpu", other_gpu,
        "resume although the run had another GPU, driver, CUDA or cuBLAS; results are then not "
        "bit-identical");
  o.add("after", after, "length of the training: epochs (10e), updates (300Ku) or tokens (20Mt)");
  o.add("valid-every", valid_every, "interval between validations");
  o.add("save-every", save_every,
        "interval between checkpoints; each validation and the end of the training also write one; "
        "0u: only these");
  o.add("keep", keep, "number of the last checkpoints to keep besides the best").range(1, 1000);
  o.add("early-stop", early_stop, "stop after this many validations without improvement; 0: never")
      .at_least(0)
      .unit("validations");
  o.add("log-every", log_every, "number of updates for each line of log.jsonl")
      .range(1, 1 << 30)
      .unit("updates");
  o.add("seed", seed, "seed of all random numbers");
  add_threads(o, threads);
  add_mpi_timeout(o, mpi_timeout);
  add_device(o, device);
  add_matmul_precision(o, precision);
  o.add("profile", profile, "print the time of each part of a training step at the end");
  o.add("detect-anomaly", detect_anomaly,
        "search every tensor for NaN and infinity (automatic if a loss is not finite)");
}

void TrainOptions::declare_parity(Options& o) {
  o.group("Parity");
  o.add("export-parity", export_parity,
        "write the first training steps for a replay in PyTorch and stop (dropout must be 0)")
      .unit("DIR");
  o.add("export-steps", export_steps, "number of steps to export").at_least(1).unit("updates");
}

void TrainOptions::resolve_optimiser(const Options& given) {
  // A file's value that is the default for the file's own --optimizer or --schedule gives way if
  // the command line gives another one.
  const Json defaults = given.defaults_json(), of_lion = {0.9, 0.99}, of_muon = 0.95;
  const auto is_default = [&](const char* name, const char* by, const Json& of_file) {
    return !given.was_named(name) || (given.replaces(by) && given.is_usual(name, of_file));
  };
  const auto betas_of = [&](bool lion) { return lion ? of_lion : defaults["betas"]; };
  const auto momentum_of = [&](bool muon) { return muon ? of_muon : defaults["momentum"]; };
  const Json of_file = given.config_value("optimizer");
  if (is_default("betas", "optimizer", betas_of(of_file == "lion")))
    betas = betas_of(optimizer == OptimizerKind::lion).get<std::array<double, 2>>();
  if (is_default("momentum", "optimizer", momentum_of(of_file == "muon")))
    momentum = momentum_of(optimizer == OptimizerKind::muon).get<double>();
  if (!has_length(schedule)) return;
  if (is_default("min-lr", "schedule", defaults["min_lr"]) || given.follows("min-lr", "lr", 0.1))
    min_lr = 0.1 * lr;
  // A run keeps the length with which it began, so that raising --after does not change it.
  if (schedule_length.value == 0 || given.is_usual("schedule-length", given.config_value("after")))
    schedule_length = after;
}

std::string TrainOptions::help_to_start() const {
  std::string help = "a lower --lr";
  if (warmup == 0) help += " or --warmup";
  if (init_bias == InitialBias::zero && init.empty())
    help += head_bias ? " or --init-bias log-frequency"
                      : " or --head-bias with --init-bias log-frequency";
  return help;
}

std::vector<std::string> TrainOptions::unreached(int64_t updates) const {
  const std::string length = concat(" is more than the ", updates,
                                    updates == 1 ? " update" : " updates", " of this training: ");
  std::vector<std::string> out;
  if (warmup > updates)
    out.push_back(
        concat("--warmup ", warmup, length, "the learning rate does not reach --lr ", lr));
  if (optimizer == OptimizerKind::asgd && asgd_trigger == 0 && asgd_start >= updates)
    out.push_back(concat("--asgd-start ", asgd_start,
                         asgd_start == updates ? " is not less than the " : " is more than the ",
                         updates, " updates of this training: no weights are averaged"));
  if (log_every > updates)
    out.push_back(concat("--log-every ", log_every, length,
                         "log.jsonl gets no line of the training, and the report no curve"));
  return out;
}

std::string TrainOptions::length_of_fall() const {
  if (!has_length(schedule) || schedule_length.unit != after.unit || schedule_length == after)
    return "";
  const bool shorter = schedule_length.value < after.value;
  return concat("--schedule-length ", schedule_length, " is ", shorter ? "less" : "more",
                " than --after ", after, ": the learning rate ",
                shorter ? concat("stays at --min-lr ", min_lr, " from there on")
                        : concat("does not fall to --min-lr ", min_lr));
}

void TrainOptions::check_initialisation() const {
  const bool norms = init_norm != InitialNorm::none, bias = init_bias != InitialBias::zero;
  require_usage(init.empty() || !norms,
                "--init-norm sets the norms of new word vectors, but --init reads word vectors: "
                "leave one of them out");
  require_usage(init.empty() || !bias,
                "--init-bias sets a new bias, but --init reads a bias: leave one of them out");
  require_usage(head_bias || !bias, "--init-bias ", to_text(init_bias),
                " needs a bias: give --head-bias");
}

void TrainOptions::check_averaging(const std::string& valid, bool has_valid) const {
  if (asgd_trigger == 0) return;
  require_usage(optimizer == OptimizerKind::asgd, "--asgd-trigger needs --optimizer asgd");
  require_usage(
      asgd_start == 0,
      "--asgd-trigger and --asgd-start both say when averaging begins: leave one of them out");
  require_usage(has_valid, "--asgd-trigger watches validation: give ", valid, " FILE");
}

void TrainOptions::check_lazy_adam() const {
  if (!lazy_adam) return;
  require_usage(optimizer == OptimizerKind::adam,
                "--lazy-adam works with --optimizer adam, not with ", optimizer,
                ": leave one of the two out");
  require_usage(!sampled_softmax.empty(),
                "--lazy-adam updates only words with a gradient, and in the full softmax every "
                "word has a gradient: give --sampled-softmax K, or leave --lazy-adam out");
  require_usage(weight_decay == 0,
                "--lazy-adam does not change words without a gradient, but weight decay would "
                "shrink every word: set --weight-decay 0, or leave --lazy-adam out");
  require_usage(weight_norm_reg.empty(),
                "--lazy-adam does not change words without a gradient, but --weight-norm-reg gives "
                "every word a gradient: leave one of the two out");
}

void TrainOptions::check_freeze() const {
  if (freeze.empty()) return;
  require_usage(weight_decay == 0,
                "--freeze does not change parameters, but weight decay would shrink them: set "
                "--weight-decay 0");
  require_usage(export_parity.empty(),
                "--export-parity exports the training of all parameters: leave out --freeze");
}

void TrainOptions::check_export(const Options& given, const std::vector<std::string>& texts) const {
  if (export_parity.empty()) return;
  require_usage(schedule != ScheduleKind::plateau,
                "--export-parity validates nothing, and --schedule plateau lowers the rate by "
                "validation: give another --schedule");
  std::vector<FlagUse> idle;
  const auto add = [&](const std::string& flag) {
    idle.push_back({flag, false, "a training, and --export-parity writes the first steps alone"});
  };
  for (const std::string& flag : texts) add(flag);
  for (const char* flag :
       {"tensorboard", "restart", "other-gpu", "valid-every", "early-stop", "profile"})
    add(flag);
  refuse_idle_flags(given, idle);
}

void TrainOptions::check_shared(const Options& given, int64_t width, const std::string& valid,
                                bool has_valid) const {
  const HeadSpec output = head_spec();
  const std::string wrong = output.check(width);
  require_usage(wrong.empty(), "--head ", wrong, "; change --head or --hidden");
  // head_config() throws where a margin or a norm does not fit the head.
  const std::string too_large_or_small = misfit(head_config(), dtype);
  require_usage(too_large_or_small.empty(), "--head and its settings: ", too_large_or_small);
  require_numbers_fit(given.declared(), dtype);
  require_usage(!has_weights() || pi_reg.empty(),
                "--pi-reg is a penalty on all tokens alike: leave out --token-weights and "
                "--class-weights, or --pi-reg");
  check_streams(given.declared());
  check_initialisation();
  check_averaging(valid, has_valid);
  check_lazy_adam();
  check_freeze();
  require_usage(after.value > 0, "--after 0 would train nothing");
  require_usage(valid_every.value > 0, "--valid-every must be above 0");
  const bool plateau = schedule == ScheduleKind::plateau, falls = has_length(schedule),
             asgd = optimizer == OptimizerKind::asgd, muon = optimizer == OptimizerKind::muon,
             adam = muon || optimizer == OptimizerKind::adam || optimizer == OptimizerKind::adamw;
  for (const HeadSetting& setting : head_settings())
    if (setting.has_effect != nullptr)
      refuse_idle_flags(given, {{flag_of(setting.name), setting.has_effect(*this), setting.needs}});
  refuse_idle_flags(
      given,
      {{"init-norm-scale", init_norm != InitialNorm::none, "--init-norm log-frequency"},
       {"valid-every", has_valid, "validation text: " + valid},
       {"momentum", asgd || muon || optimizer == OptimizerKind::sgd,
        "--optimizer sgd, asgd or muon"},
       {"betas", adam || optimizer == OptimizerKind::lion, "--optimizer adam, adamw, lion or muon"},
       {"eps", adam, "--optimizer adam, adamw or muon"},
       {"asgd-start", asgd, "--optimizer asgd"},
       {"plateau-factor", plateau, "--schedule plateau"},
       {"plateau-patience", plateau, "--schedule plateau"},
       {"min-lr", plateau || falls, "--schedule plateau, cosine, linear or wsd"},
       {"schedule-length", falls, "--schedule cosine, linear or wsd"},
       {"wsd-fall", schedule == ScheduleKind::wsd, "--schedule wsd"},
       {"schedule", !plateau || has_valid, "validation text for plateau: " + valid},
       {"early-stop", early_stop == 0 || has_valid, "validation text: " + valid},
       {"export-steps", !export_parity.empty(), "--export-parity"}});
  require_usage(!plateau || min_lr < lr, "--min-lr ", min_lr, " is not below --lr ", lr,
                ", so that the rate of --schedule plateau would never fall");
  require_usage(!falls || min_lr <= lr, "--min-lr ", min_lr, " is above --lr ", lr,
                ", so that the rate of --schedule ", to_text(schedule), " would rise");
  require_usage(precision == MatmulPrecision::highest || dtype == DType::float32,
                "--matmul-precision ", to_text(precision),
                " works with float32 only, not with --dtype ", dtype);
}

void TrainOptions::check_processes(const Communicator& communicator) const {
  const int size = communicator.size();
  if (size == 1) return;
  int fitting = 1;  // the most processes that would do
  while (2 * fitting <= size && accumulate % (2 * fitting) == 0) fitting *= 2;
  int largest = 1;  // of the numbers that may do
  while (2 * largest <= size) largest *= 2;
  require_usage(fitting == size, "--accumulate ", accumulate, " cannot be shared out among ", size,
                " processes: the number of processes must be 1, 2, 4, 8 ... and must divide "
                "--accumulate; start ",
                fitting, fitting == 1 ? " process" : " processes",
                fitting == largest ? ""
                                   : concat(", or ", largest, " with --accumulate ", largest, ", ",
                                            2 * largest, " ..., which gives another run"));
  require_usage(export_parity.empty(),
                "--export-parity works in one process only; start it without mpirun");
  require_usage(device == "cpu", "--device ", device,
                " works in one process only; start it without mpirun");
}

TrainerConfig TrainOptions::trainer() const {
  return {.after = after,
          .valid_every = valid_every,
          .save_every = save_every,
          .log_every = log_every,
          .early_stop = early_stop,
          .keep = keep,
          .sampled = !sampled_softmax.empty(),
          .profile = profile,
          .step = {.accumulate = accumulate,
                   .clip = clip,
                   .seed = seed,
                   .detect_anomaly = detect_anomaly},
          .optimizer = {.kind = optimizer,
                        .momentum = momentum,
                        .beta1 = betas[0],
                        .beta2 = betas[1],
                        .eps = eps,
                        .lazy = lazy_adam,
                        .weight_decay = weight_decay,
                        .average_from = asgd_trigger > 0 ? OptimizerConfig::kNotYet : asgd_start},
          .average_trigger = asgd_trigger,
          .schedule = {.kind = schedule,
                       .lr = lr,
                       .warmup = warmup,
                       .decay = plateau_factor,
                       .patience = plateau_patience,
                       .min_lr = min_lr,
                       .fall = wsd_fall},
          .schedule_length = schedule_length};
}

}  // namespace nine::app
