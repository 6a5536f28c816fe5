#include "apps/shared/lm_options.h"

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

void LmOptions::declare(Options& o) {
  o.group("Data");
  o.add("train", train, "training text, tokenised, one sentence a line").unit("FILE...");
  o.add("valid", valid, "validation text").unit("FILE...");
  o.add("test", test, "text to score with the best model at the end").unit("FILE...");
  o.add("sample", sample, "use the built-in sample text, whose entropy is known, instead of files");
  o.add("sample-sentences", sample_sentences, "size of the sample's training text").at_least(100).unit("sentences");
  o.add("vocab", vocab, "vocabulary to use, a fairseq dict.txt, instead of one built from the training text").unit("FILE");
  o.add("vocab-size", vocab_size, "most words of a built vocabulary, </s> and <unk> counted; 0: no limit").at_least(0).unit("words");
  o.add("min-count", min_count, "words seen less often in training become <unk>").at_least(1).unit("times");

  o.group("Model");
  o.add("layers", layers, "LSTM layers").range(1, 64);
  o.add("hidden", hidden, "hidden size of the LSTM").range(1, 65536).unit("units");
  o.add("embed", embed, "size of the word embeddings").range(1, 65536).unit("units");
  o.add("tie-embeddings", tie_embeddings, "one matrix for the embeddings and the head's word vectors (embed = hidden)");
  o.add("head", head, concat("score function of the output layer, such as lin, pow:p=1 or mix:3*lin,log. ", head_help()))
      .check([](const std::string& text) { parse_head(text); });
  o.add("untied", untied, "mixtures: word vectors of its own for each component");
  o.add("head-context", head_context, "what a component sees of the context: none, the context itself; tanh, its own projection of it")
      .choices({"none", "tanh"})
      .default_text("tanh for mixtures, none for a single kernel");
  o.add("variance", variance, "ssg, mog: split, a vector's last number is its log-variance, or a constant > 0; where --head does not say it")
      .unit("split|NUMBER")
      .check([](const std::string& text) { parse_head("ssg", {.variance = text}); })
      .default_text("split");
  o.add("ball", ball, "hpb: how vectors enter the unit ball: lorentz, tanh, clip or sigmoid; where --head does not say it")
      .choices({"lorentz", "tanh", "clip", "sigmoid"})
      .default_text("lorentz");
  o.add("head-bias", head_bias, "one bias a word in the output layer");
  o.add("head-memory", head_memory, "how the head's scores are held: blocks of rows, or tiles computed again: less memory, a third more work")
      .choices({"blocks", "tiles"});
  o.add("dtype", dtype, "type of weights and arithmetic").choices({"float32", "float64"});
  o.add("init", init, "start from the weights of this checkpoint").unit("DIR");
  o.add("init-norm", init_norm,
        "norms that the head's word vectors start with: log-frequency, --init-norm-scale times the log of a word's count in training")
      .choices({"none", "log-frequency"});
  o.add("init-bias", init_bias, "what the head's bias starts with: zero, or log-frequency, the log of a word's share of the training text")
      .choices({"zero", "log-frequency"});
  o.add("init-norm-scale", init_norm_scale, "norm for each unit of log count").above(0);

  o.group("Regularisation");
  o.add("dropout", dropout, "dropout on the embeddings").range_from(0, 1);
  o.add("dropout-words", dropout_words, "share of the vocabulary whose embeddings are dropped in a step").range_from(0, 1);
  o.add("dropout-hidden", dropout_hidden, "dropout between LSTM layers").range_from(0, 1);
  o.add("dropout-output", dropout_output, "dropout on what the last layer hands to the head").range_from(0, 1);
  o.add("variational", variational, "one dropout mask for all time steps of a segment");
  o.add("label-smoothing", label_smoothing, "probability that the targets spread over the vocabulary").range(0, 1);
  o.add("smoothing", smoothing, "label smoothing: uniform gives every word its share, others every word but the target")
      .choices({"uniform", "others"});
  o.add("pi-reg", pi_reg, "penalty on a mixture's prior: variance:RHO or cv2:RHO").check([](const std::string& text) {
    prior_regulariser_from_text(text);
  });
  o.add("weight-norm-reg", weight_norm_reg, "penalty on how far the head's word vectors are from norm NU: squared:RHO,NU or root:RHO,NU")
      .check([](const std::string& text) { norm_regulariser_from_text(text); });
  o.add("ar", ar, "activation regularisation: factor of the mean square of the dropped output").at_least(0);
  o.add("tar", tar, "temporal activation regularisation: factor of the mean square of h(t+1) - h(t)").at_least(0);

  o.group("Batches");
  o.add("batch", batch, "columns of text side by side (with --sentences: sentences)").range(1, 1 << 20);
  o.add("bptt", bptt, "time steps of truncated back-propagation; the state is carried on").range(1, 1 << 20).unit("tokens");
  o.add("sentences", sentences, "each sentence on its own, from a fresh state, instead of carried state");
  o.add("batch-tokens", batch_tokens, "with --sentences: positions a batch, padding counted, in place of --batch; 0: off").at_least(0).unit("tokens");
  o.add("accumulate", accumulate, "batches whose gradients make one update").range(1, 65535);

  o.group("Optimiser");
  o.add("optimizer", optimizer, "how weights are updated").choices({"sgd", "adam", "adamw", "asgd"});
  o.add("lr", lr, "learning rate").above(0);
  o.add("momentum", momentum, "sgd, asgd").range_from(0, 1);
  o.add("betas", betas, "adam, adamw: decay of the moments").range_from(0, 1);
  o.add("eps", eps, "adam, adamw: added to the root of the second moment").above(0);
  o.add("weight-decay", weight_decay, "L2 penalty in the gradient; adamw: decoupled").at_least(0);
  o.add("clip", clip, "largest norm of the gradient; 0: no clipping").at_least(0);
  o.add("asgd-start", asgd_start, "asgd: updates before averaging begins").at_least(0).unit("updates");
  o.add("asgd-trigger", asgd_trigger, "asgd: averaging begins when a validation is worse than the best of all but the last N; 0: --asgd-start says")
      .at_least(0)
      .unit("validations");
  o.add("schedule", schedule, "how the learning rate changes").choices({"constant", "inverse-sqrt", "plateau"});
  o.add("warmup", warmup, "updates over which the rate rises from 0").at_least(0).unit("updates");
  o.add("plateau-factor", plateau_factor, "plateau: the rate's factor when validation is no better").range_open(0, 1);
  o.add("plateau-patience", plateau_patience, "plateau: validations without improvement before that").at_least(0).unit("validations");
  o.add("min-lr", min_lr, "plateau: lowest rate").above(0);

  o.group("Run");
  o.add("run", run, "directory of the run; one that holds a matching run goes on").unit("DIR");
  o.add("tensorboard", tensorboard, "also write event files for TensorBoard there").unit("DIR").default_text("none");
  o.add("restart", restart, "start over; what the directory holds is moved to DIR/old-N");
  o.add("after", after, "train this long: epochs (10e), updates (300Ku) or tokens (20Mt)");
  o.add("valid-every", valid_every, "validate this often");
  o.add("save-every", save_every, "checkpoint this often, and at validations and the end; 0u: only then");
  o.add("keep", keep, "checkpoints kept besides the best").range(1, 1000);
  o.add("early-stop", early_stop, "stop after so many validations without improvement; 0: never").at_least(0).unit("validations");
  o.add("log-every", log_every, "updates that a line of log.jsonl covers").range(1, 1 << 30).unit("updates");
  o.add("seed", seed, "all random numbers follow from it");
  o.add("threads", threads, "0: all physical cores").range(0, 4096).default_text("physical cores");
  o.add("device", device, "where to compute").unit("cpu|cuda[:i]").check([](const std::string& text) { device_from_text(text); });
  o.add("precision", precision, "arithmetic on CUDA; the CPU computes in --dtype").choices({"fp32", "tf32", "bf16"});
  o.add("profile", profile, "print what the parts of a step cost, at the end");
  o.add("detect-anomaly", detect_anomaly, "search every tensor for NaN and infinity (done by itself when a loss is not finite)");

  o.group("Parity");
  o.add("export-parity", export_parity, "write the first steps for replay in PyTorch and stop (dropout must be 0)").unit("DIR");
  o.add("export-steps", export_steps, "steps to export").at_least(1).unit("updates");
}

void LmOptions::check(const Options& given) const {
  const auto usage = [](bool ok, const auto&... text) {
    if (!ok) throw UsageError(concat(text...));
  };
  usage(sample != !train.empty(),
        sample ? "--sample and --train exclude each other" : "no training text: give --train FILE, or --sample for the built-in one");
  usage(!sample || (valid.empty() && test.empty()), "--sample brings its own validation and test text; leave out --valid and --test");
  usage(vocab.empty() || (vocab_size == 0 && min_count == 1), "--vocab gives the vocabulary as it is; leave out --vocab-size and --min-count");
  usage(vocab_size == 0 || vocab_size >= 3, "--vocab-size ", vocab_size, " leaves no room for a word besides </s> and <unk>");
  usage(batch_tokens == 0 || sentences, "--batch-tokens needs --sentences; with carried state a batch is --batch times --bptt");
  usage(!tie_embeddings || embed == hidden, "--tie-embeddings makes input and output word vectors one matrix: --embed ", embed,
        " must equal --hidden ", hidden);
  usage(init.empty() || init_norm == "none", "--init-norm sets the norms of fresh word vectors; --init brings its own");
  usage(init.empty() || init_bias == "zero", "--init-bias sets a fresh bias; --init brings its own");
  usage(head_bias || init_bias == "zero", "--init-bias ", init_bias, " needs a bias: leave out --no-head-bias");
  const HeadSpec output = head_spec();
  const std::string misfit = output.check(hidden);
  usage(misfit.empty(), "--head ", misfit, "; change --head or --hidden");
  usage(asgd_trigger == 0 || optimizer == "asgd", "--asgd-trigger needs --optimizer asgd");
  usage(asgd_trigger == 0 || asgd_start == 0, "--asgd-trigger and --asgd-start exclude each other: averaging begins once");
  usage(asgd_trigger == 0 || sample || !valid.empty(), "--asgd-trigger watches validation: give --valid FILE");
  usage(dropout_hidden == 0 || layers > 1,
        "--dropout-hidden drops units between LSTM layers, but there is one layer; --dropout-output is after the last");
  usage(after.value > 0, "--after 0 would train nothing");
  usage(valid_every.value > 0, "--valid-every must be above 0");
  const struct {
    const char* flag;
    bool useful;
    const char* needs;
  } idle[] = {{"pi-reg", output.mixture, "a mixture, --head mix:..."},
              {"untied", output.mixture, "a mixture, --head mix:..."},
              {"variance", uses(output, "variance"), "a head with ssg or mog"},
              {"ball", uses(output, "ball"), "a head with hpb"},
              {"sample-sentences", sample, "--sample"},
              {"bptt", !sentences, "carried state; --sentences has none"},
              {"momentum", optimizer == "sgd" || optimizer == "asgd", "--optimizer sgd or asgd"},
              {"betas", optimizer == "adam" || optimizer == "adamw", "--optimizer adam or adamw"},
              {"eps", optimizer == "adam" || optimizer == "adamw", "--optimizer adam or adamw"},
              {"asgd-start", optimizer == "asgd", "--optimizer asgd"},
              {"plateau-factor", schedule == "plateau", "--schedule plateau"},
              {"plateau-patience", schedule == "plateau", "--schedule plateau"},
              {"min-lr", schedule == "plateau", "--schedule plateau"},
              {"schedule", schedule != "plateau" || sample || !valid.empty(), "validation text for plateau: --valid"},
              {"early-stop", early_stop == 0 || sample || !valid.empty(), "validation text: --valid"},
              {"export-steps", !export_parity.empty(), "--export-parity"}};
  // Against the defaults, so that a dumped configuration, which names every flag, can be read again.
  const nlohmann::ordered_json now = given.to_json(), defaults = given.defaults_json();
  for (const auto& f : idle) {
    std::string key = f.flag;
    std::replace(key.begin(), key.end(), '-', '_');
    usage(f.useful || now[key] == defaults[key], "--", f.flag, " has no effect here: it needs ", f.needs);
  }
  usage(precision == "fp32" || device != "cpu", "--precision ", precision, " is for --device cuda; on the CPU choose --dtype");
}

HeadSpec LmOptions::head_spec() const {
  return parse_head(head, {.variance = variance, .ball = ball, .head_context = head_context, .untied = untied});
}

LanguageModelConfig LmOptions::model(int64_t vocabulary) const {
  return {.vocab = vocabulary,
          .embed = embed,
          .hidden = hidden,
          .layers = layers,
          .dropout = dropout,
          .tie_embeddings = tie_embeddings,
          .head_bias = head_bias,
          .head = head_spec(),
          .dropout_words = dropout_words,
          .dropout_hidden = dropout_hidden,
          .dropout_output = dropout_output,
          .variational = variational,
          .smoothing = {.epsilon = label_smoothing, .kind = smoothing_from_text(smoothing)},
          .prior_reg = prior_regulariser_from_text(pi_reg),
          .norm_reg = norm_regulariser_from_text(weight_norm_reg),
          .head_memory = head_memory_from_text(head_memory),
          .activation_reg = ar,
          .temporal_activation_reg = tar};
}

LmBatching LmOptions::batching() const { return {.batch = batch, .bptt = bptt, .sentences = sentences, .batch_tokens = batch_tokens, .seed = seed}; }

TrainerConfig LmOptions::trainer() const {
  return {
      .after = after,
      .valid_every = valid_every,
      .save_every = save_every,
      .log_every = log_every,
      .early_stop = early_stop,
      .keep = keep,
      .profile = profile,
      .step = {.accumulate = accumulate, .clip = clip, .seed = seed, .detect_anomaly = detect_anomaly},
      .optimizer = {.kind = optimizer_from_text(optimizer),
                    .momentum = momentum,
                    .beta1 = betas[0],
                    .beta2 = betas[1],
                    .eps = eps,
                    .weight_decay = weight_decay,
                    .average_from = asgd_trigger > 0 ? OptimizerConfig::kNotYet : asgd_start},
      .average_trigger = asgd_trigger,
      .schedule = {
          .kind = schedule_from_text(schedule), .lr = lr, .warmup = warmup, .decay = plateau_factor, .patience = plateau_patience, .min_lr = min_lr}};
}

Device use_machine(int threads, const std::string& device, const std::string& precision) {
  cuda::install();
  cuda::set_precision(cuda::precision_from_text(precision));
  set_threads(threads > 0 ? threads : physical_cores());
  const Device d = device_from_text(device);
  if (d.kind != DeviceKind::cpu) Tensor({1}, DType::float32, d);  // says at once that it is not there
  return d;
}

}  // namespace nine::app
