#include "apps/training/train_options.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/threads.h"
#include "cuda/cuda.h"

namespace nine::app {

namespace {

// The kernels with their parameters, and the presets.
std::string head_help() {
  std::string text = "Kernels:";
  for (const KernelInfo& k : kernel_table()) {
    text += concat(" ", k.name);
    for (const ParameterInfo& p : k.parameters) text += concat(":", p.name);
  }
  text += "; mixtures:";
  for (const HeadPreset& p : head_presets()) text += concat(" ", p.name);
  return text;
}

bool uses(const HeadSpec& head, std::string_view parameter) {
  for (const Score& component : head.components)
    for (const ParameterInfo& p : kernel_info(component.kind).parameters)
      if (parameter == p.name) return true;
  return false;
}

}  // namespace

void TrainOptions::declare_head(Options& o) {
  o.add("head", head,
        concat("score function of the output layer, such as lin, pow:p=1 or mix:3*lin,log. ",
               head_help()))
      .check([](const std::string& text) {
        parse_head(text, {.ball = "sigmoid"});
      });  // which takes shift; --ball may say so
  o.add("untied", untied, "mixtures: word vectors of its own for each component");
  o.add("head-context", head_context,
        "what a component sees of the context: none, the context itself; tanh, its own projection "
        "of it")
      .choices({"none", "tanh"})
      .default_text("tanh for mixtures, none for a single kernel");
  o.add("variance", variance,
        "ssg, mog: split, a vector's last number is its log-variance, or a constant > 0; where "
        "--head does not say it")
      .unit("split|NUMBER")
      .check([](const std::string& text) { parse_head("ssg", {.variance = text}); })
      .default_text("split");
  o.add("ball", ball,
        "hpb: how vectors enter the unit ball: lorentz, tanh, clip or sigmoid; where --head does "
        "not say it")
      .choices({"lorentz", "tanh", "clip", "sigmoid"})
      .default_text("lorentz");
  o.add("head-bias", head_bias, "one bias a word in the output layer");
  o.add("head-memory", head_memory,
        "how the head's scores are held: blocks of rows, or tiles computed again: less memory, a "
        "third more work")
      .choices({"blocks", "tiles"});
  o.add("dtype", dtype, "type of weights and arithmetic").choices({"float32", "float64"});
  o.add("init", init, "start from the weights of this checkpoint").unit("DIR");
  o.add("init-norm", init_norm,
        "norms that the head's word vectors start with: log-frequency, --init-norm-scale times the "
        "log of a word's count in training")
      .choices({"none", "log-frequency"});
  o.add("init-bias", init_bias,
        "what the head's bias starts with: zero, or log-frequency, the log of a word's share of "
        "the training text")
      .choices({"zero", "log-frequency"});
  o.add("init-norm-scale", init_norm_scale, "norm for each unit of log count").above(0);
}

void TrainOptions::declare_head_regularisation(Options& o) {
  o.add("label-smoothing", label_smoothing,
        "probability that the targets spread over the vocabulary")
      .range(0, 1);
  o.add("smoothing", smoothing,
        "label smoothing: uniform gives every word its share, others every word but the target")
      .choices({"uniform", "others"});
  o.add("pi-reg", pi_reg, "penalty on a mixture's prior: variance:RHO or cv2:RHO")
      .check([](const std::string& text) { prior_regulariser_from_text(text); });
  o.add(
       "weight-norm-reg", weight_norm_reg,
       "penalty on how far the head's word vectors are from norm NU: squared:RHO,NU or root:RHO,NU")
      .check([](const std::string& text) { norm_regulariser_from_text(text); });
}

void TrainOptions::declare_accumulation(Options& o) {
  o.add("accumulate", accumulate, "batches whose gradients make one update").range(1, 65535);
}

void TrainOptions::declare_optimiser(Options& o) {
  o.group("Optimiser");
  o.add("optimizer", optimizer, "how weights are updated").choices(enum_names<OptimizerKind>());
  o.add("lr", lr, "learning rate").above(0);
  o.add("momentum", momentum, "sgd, asgd").range_from(0, 1);
  o.add("betas", betas, "adam, adamw: decay of the moments").range_from(0, 1);
  o.add("eps", eps, "adam, adamw: added to the root of the second moment").above(0);
  o.add("weight-decay", weight_decay, "L2 penalty in the gradient; adamw: decoupled").at_least(0);
  o.add("clip", clip, "largest norm of the gradient; 0: no clipping").at_least(0);
  o.add("asgd-start", asgd_start, "asgd: updates before averaging begins")
      .at_least(0)
      .unit("updates");
  o.add("asgd-trigger", asgd_trigger,
        "asgd: averaging begins when a validation is worse than the best of all but the last N; 0: "
        "--asgd-start says")
      .at_least(0)
      .unit("validations");
  o.add("schedule", schedule, "how the learning rate changes").choices(enum_names<ScheduleKind>());
  o.add("warmup", warmup, "updates over which the rate rises from 0").at_least(0).unit("updates");
  o.add("plateau-factor", plateau_factor, "plateau: the rate's factor when validation is no better")
      .range_open(0, 1);
  o.add("plateau-patience", plateau_patience,
        "plateau: validations without improvement before that")
      .at_least(0)
      .unit("validations");
  o.add("min-lr", min_lr, "plateau: lowest rate").above(0);
}

void TrainOptions::declare_run(Options& o) {
  o.group("Run");
  o.add("run", run, "directory of the run; one that holds a matching run goes on").unit("DIR");
  o.add("tensorboard", tensorboard, "also write event files for TensorBoard there")
      .unit("DIR")
      .default_text("none");
  o.add("restart", restart, "start over; what the directory holds is moved to DIR/old-N");
  o.add("after", after, "train this long: epochs (10e), updates (300Ku) or tokens (20Mt)");
  o.add("valid-every", valid_every, "validate this often");
  o.add("save-every", save_every,
        "checkpoint this often, and at validations and the end; 0u: only then");
  o.add("keep", keep, "checkpoints kept besides the best").range(1, 1000);
  o.add("early-stop", early_stop, "stop after so many validations without improvement; 0: never")
      .at_least(0)
      .unit("validations");
  o.add("log-every", log_every, "updates that a line of log.jsonl covers")
      .range(1, 1 << 30)
      .unit("updates");
  o.add("seed", seed, "all random numbers follow from it");
  o.add("threads", threads, "0: all physical cores").range(0, 4096).default_text("physical cores");
  o.add("device", device, "where to compute")
      .unit("cpu|cuda[:i]")
      .check([](const std::string& text) { device_from_text(text); });
  o.add("precision", precision, "arithmetic on CUDA; the CPU computes in --dtype")
      .choices({"fp32", "tf32", "bf16"});
  o.add("profile", profile, "print what the parts of a step cost, at the end");
  o.add("detect-anomaly", detect_anomaly,
        "search every tensor for NaN and infinity (done by itself when a loss is not finite)");
}

void TrainOptions::declare_parity(Options& o) {
  o.group("Parity");
  o.add("export-parity", export_parity,
        "write the first steps for replay in PyTorch and stop (dropout must be 0)")
      .unit("DIR");
  o.add("export-steps", export_steps, "steps to export").at_least(1).unit("updates");
}

void TrainOptions::check_shared(const Options& given, int64_t width, const std::string& valid,
                                bool has_valid, const std::vector<Idle>& more) const {
  const HeadSpec output = head_spec();
  const std::string misfit = output.check(width);
  usage(misfit.empty(), "--head ", misfit, "; change --head or --hidden");
  usage(init.empty() || init_norm == "none",
        "--init-norm sets the norms of fresh word vectors; --init brings its own");
  usage(init.empty() || init_bias == "zero",
        "--init-bias sets a fresh bias; --init brings its own");
  usage(head_bias || init_bias == "zero", "--init-bias ", init_bias,
        " needs a bias: give --head-bias");
  usage(asgd_trigger == 0 || optimizer == "asgd", "--asgd-trigger needs --optimizer asgd");
  usage(asgd_trigger == 0 || asgd_start == 0,
        "--asgd-trigger and --asgd-start exclude each other: averaging begins once");
  usage(asgd_trigger == 0 || has_valid, "--asgd-trigger watches validation: give ", valid, " FILE");
  usage(after.value > 0, "--after 0 would train nothing");
  usage(valid_every.value > 0, "--valid-every must be above 0");
  const std::string valid_text = concat("validation text: ", valid),
                    plateau_text = concat("validation text for plateau: ", valid);
  std::vector<Idle> idle{
      {"pi-reg", output.mixture, "a mixture, --head mix:..."},
      {"untied", output.mixture, "a mixture, --head mix:..."},
      {"init-norm-scale", init_norm != "none", "--init-norm log-frequency"},
      {"valid-every", has_valid, valid_text.c_str()},
      {"variance", uses(output, "variance"), "a head with ssg or mog"},
      {"ball", uses(output, "ball"), "a head with hpb"},
      {"momentum", optimizer == "sgd" || optimizer == "asgd", "--optimizer sgd or asgd"},
      {"betas", optimizer == "adam" || optimizer == "adamw", "--optimizer adam or adamw"},
      {"eps", optimizer == "adam" || optimizer == "adamw", "--optimizer adam or adamw"},
      {"asgd-start", optimizer == "asgd", "--optimizer asgd"},
      {"plateau-factor", schedule == "plateau", "--schedule plateau"},
      {"plateau-patience", schedule == "plateau", "--schedule plateau"},
      {"min-lr", schedule == "plateau", "--schedule plateau"},
      {"schedule", schedule != "plateau" || has_valid, plateau_text.c_str()},
      {"early-stop", early_stop == 0 || has_valid, valid_text.c_str()},
      {"export-steps", !export_parity.empty(), "--export-parity"}};
  idle.insert(idle.end(), more.begin(), more.end());
  // Against the defaults, so that a dumped configuration, which names every flag, can be read
  // again.
  const nlohmann::ordered_json now = given.to_json(), defaults = given.defaults_json();
  for (const Idle& f : idle) {
    std::string key = f.flag;
    std::replace(key.begin(), key.end(), '-', '_');
    usage(f.useful || now[key] == defaults[key], "--", f.flag, " has no effect here: it needs ",
          f.needs);
  }
  usage(precision == "fp32" || device != "cpu", "--precision ", precision,
        " is for --device cuda; on the CPU choose --dtype");
}

HeadSpec TrainOptions::head_spec() const {
  return parse_head(
      head, {.variance = variance, .ball = ball, .head_context = head_context, .untied = untied});
}

TrainerConfig TrainOptions::trainer() const {
  return {.after = after,
          .valid_every = valid_every,
          .save_every = save_every,
          .log_every = log_every,
          .early_stop = early_stop,
          .keep = keep,
          .profile = profile,
          .step = {.accumulate = accumulate,
                   .clip = clip,
                   .seed = seed,
                   .detect_anomaly = detect_anomaly},
          .optimizer = {.kind = enum_from_text<OptimizerKind>(optimizer),
                        .momentum = momentum,
                        .beta1 = betas[0],
                        .beta2 = betas[1],
                        .eps = eps,
                        .weight_decay = weight_decay,
                        .average_from = asgd_trigger > 0 ? OptimizerConfig::kNotYet : asgd_start},
          .average_trigger = asgd_trigger,
          .schedule = {.kind = enum_from_text<ScheduleKind>(schedule),
                       .lr = lr,
                       .warmup = warmup,
                       .decay = plateau_factor,
                       .patience = plateau_patience,
                       .min_lr = min_lr}};
}

Device use_machine(int threads, const std::string& device, const std::string& precision) {
  cuda::install();
  cuda::set_precision(cuda::precision_from_text(precision));
  set_threads(threads > 0 ? threads : physical_cores());
  const Device d = device_from_text(device);
  if (d.kind != DeviceKind::cpu)
    Tensor({1}, DType::float32, d);  // says at once that it is not there
  return d;
}

}  // namespace nine::app
