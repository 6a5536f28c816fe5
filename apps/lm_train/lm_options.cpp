#include "apps/lm_train/lm_options.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <type_traits>

#include "apps/cli/option_data.h"
#include "apps/cli/option_values.h"
#include "apps/lm_train/start_vectors.h"
#include "apps/training/run_directory.h"
#include "apps/training/train_run.h"
#include "core/json.h"
#include "nn/models/language_words.h"
#include "nn/models/model_directory.h"

namespace nine::app {
namespace {

// Returns the keys of a head that the files of a model describe.
std::vector<const HeadSetting*> settings_of_models() {
  std::vector<const HeadSetting*> out;
  for (const HeadSetting& setting : head_settings())
    if (setting.use == SettingUse::decoding || setting.use == SettingUse::written)
      out.push_back(&setting);
  return out;
}

// Returns what a model says of its head, by keys of options. Its head string has the settings that
// are written there.
Json settings_of(const HeadConfig& head) {
  Json out{{"head", head.spec.to_text()}};
  for (const HeadSetting* setting : settings_of_models())
    if (setting->use == SettingUse::decoding && setting->value != nullptr)
      std::visit([&](const auto& value) { out[setting->name] = value; }, setting->value(head));
  return out;
}

Json settings_of(const LstmLanguageModelConfig& c) {
  return {{"arch", to_text(LmArch::lstm)},
          {"layers", c.layers},
          {"hidden", c.hidden},
          {"embed", c.embed},
          {"tie_embeddings", c.tie_embeddings}};
}

Json settings_of(const TransformerLanguageModelConfig& c) {
  Json out{{"arch", to_text(LmArch::transformer)},
           {"layers", c.layers},
           {"hidden", c.hidden},
           {"ffn", c.ffn},
           {"heads", c.heads},
           {"bptt", c.window},
           {"tie_embeddings", c.tie_embeddings}};
  for (const StyleSetting& setting : style_settings()) {
    if (setting.has_effect != nullptr && !setting.has_effect(c.style)) continue;
    std::visit(
        [&](auto member) {
          using T = std::remove_cvref_t<decltype(c.style.*member)>;
          if constexpr (NamedEnum<T> || std::is_same_v<T, RotaryScaling>)
            out[setting.name] = to_text(c.style.*member);
          else
            out[setting.name] = c.style.*member;
        },
        setting.member);
  }
  return out;
}

// Sets an option that was not given from a value of `place`.
void derive(const Options& given, const std::string& key, const Json& value,
            const std::string& place) {
  if (given.was_named(flag_of(key))) return;
  for (const OptionData* option : given.declared())
    if (option->key() == key) {
      OptionData bound = *option;  // has the option's field, but is not the option that was given
      set_from_json(bound, value, place);
    }
}

// Returns an option as it is typed: "--layers 3", "--no-linear-bias".
std::string typed(const std::string& key, const Json& value) {
  if (value.is_boolean()) return concat(value ? "--" : "--no-", flag_of(key));
  return concat("--", flag_of(key), ' ',
                value.is_string() ? value.get<std::string>() : json_text(value));
}

}  // namespace

void LmOptions::declare(Options& o) {
  declare_data(o);
  declare_model(o);
  declare_regularisation(o);
  declare_batches(o);
  declare_optimiser(o);
  declare_run(o);
  declare_parity(o);
  o.on_filled([this, &o] { resolve(o); });
}

void LmOptions::declare_data(Options& o) {
  o.group("Data");
  o.add("train", train, "training text, tokenised, one sentence a line").unit("FILE...");
  o.add("text", text,
        "training text, raw, in place of --train; --valid and --test are then raw too. Without "
        "--valid, the last twentieth of its documents or lines is the validation text")
      .unit("FILE...");
  o.add("valid", valid, "validation text").unit("FILE...");
  o.add("test", test, "test text, scored with the best checkpoint at the end").unit("FILE...");
  o.add("sample", sample,
        "train on a built-in sample text, whose entropy is known, instead of files");
  o.add("sample-sentences", sample_sentences, "length of the sample's training text")
      .at_least(100)
      .unit("sentences");
  o.add("vocab", vocab,
        "vocabulary file (fairseq's dict.txt); without it, the vocabulary is built from the "
        "training text")
      .unit("FILE");
  declare_vocabulary_limits(o,
                            "largest size of a vocabulary built from the training text, with </s> "
                            "and <unk>; 0: no limit. With --text: its exact size; 0: up to 8192, "
                            "without pairs of symbols that occur fewer than 20 times");
  raw_tokenizer.declare(o, "--text");
  declare_weights(o, "--train");
}

void LmOptions::declare_model(Options& o) {
  o.group("Model");
  o.add("arch", arch,
        "network: an LSTM, or a Transformer like GPT-2. The Transformer has other defaults: --bptt "
        "128, --schedule inverse-sqrt, --warmup 500. llama is a Transformer with the defaults "
        "--positions rotary, --norm-type rms, --activation swiglu, --no-linear-bias")
      .called("architecture");
  o.add("layers", layers, "number of layers").range(1, 64).called("number of layers");
  o.add("hidden", hidden, "width of the layers")
      .range(1, 65536)
      .unit("units")
      .called("hidden size");
  o.add("embed", embed,
        "lstm: width of the word embeddings; those of a Transformer have width --hidden")
      .range(1, 65536)
      .unit("units")
      .called("embedding size");
  o.add("ffn", ffn,
        "transformer: inner width of the feed-forward layers; 0: 4 times --hidden, or, gated, 8/3 "
        "times "
        "--hidden, rounded up to a multiple of 8")
      .range(0, 1 << 20)
      .unit("units")
      .default_text("4 times --hidden; gated: 8/3 times")
      .called("feed-forward size");
  o.add("heads", heads, "transformer: number of attention heads")
      .range(1, 1024)
      .called("number of attention heads");
  declare_style(o, style, recompute, "transformer: ");
  o.add("init-std", init_std,
        "transformer: standard deviation of the initial values of the layers' linear maps; 0: "
        "1 / sqrt(--hidden)")
      .at_least(0);
  o.add("tie-embeddings", tie_embeddings,
        "use one matrix for the input embeddings and the output word vectors; an LSTM needs "
        "--embed equal to --hidden")
      .called("tied embeddings");
  o.add("vectors", vectors,
        "vectors of words, as word2vec and GloVe write text, from which the embeddings start, or, "
        "as head=FILE, the output layer's word vectors; words without one start as usual")
      .unit("FILE...");
  o.add("lora", lora,
        "with --init: trains low-rank updates of matrices (LoRA) with this rank in place of the "
        "weights, and saves their sum; 0: off")
      .range(0, 65536)
      .called("rank");
  o.add("lora-alpha", lora_alpha,
        "factor of the low-rank updates, times 1 / --lora; 0: that of --lora")
      .at_least(0)
      .default_text("--lora");
  o.add("lora-matrices", lora_matrices,
        "matrices that --lora updates: names as in model.safetensors, separated by commas; * "
        "matches any text, ? any character")
      .check([](const std::string& names) {
        require_usage(!names.empty(), "must be names of parameters, and is empty");
        check_name_patterns(names);
      })
      .unit("NAMES");
  declare_head(o);
}

void LmOptions::declare_regularisation(Options& o) {
  o.group("Regularisation");
  o.add("dropout", dropout,
        "dropout of the embeddings; transformer: of word plus position embeddings, and of the "
        "residual branches")
      .range_from(0, 1);
  o.add("attention-dropout", attention_dropout, "transformer: dropout of the attention weights")
      .range_from(0, 1)
      .default_text("that of --dropout");
  o.add("dropout-words", dropout_words,
        "share of the vocabulary whose embeddings are dropped in a step")
      .range_from(0, 1);
  o.add("dropout-hidden", dropout_hidden, "lstm: dropout between layers").range_from(0, 1);
  o.add("dropout-output", dropout_output, "dropout of the last layer's output").range_from(0, 1);
  o.add("variational", variational,
        "lstm: variational dropout, with one dropout mask for all time steps of a segment");
  declare_head_regularisation(o);
  o.add("ar", ar,
        "activation regularisation (AR): factor of the mean square of the last layer's output "
        "after dropout")
      .at_least(0);
  o.add("tar", tar,
        "temporal activation regularisation (TAR): factor of the mean square of h(t+1) - h(t)")
      .at_least(0);
}

void LmOptions::declare_batches(Options& o) {
  o.group("Batches");
  o.add("batch", batch,
        "number of columns into which the text is cut; with --sentences or --documents: those in a "
        "batch")
      .range(1, 1 << 20)
      .called("batch size");
  o.add("bptt", bptt,
        "lstm: time steps of truncated back-propagation; the state is carried to the next batch. "
        "transformer: window, the number of positions")
      .range(1, 1 << 20)
      .unit("tokens")
      .default_text("35; transformer: 128")
      .called("bptt length");
  o.add("order", order,
        "order of the training text: shuffled, its sentences in a new order in each epoch; file, "
        "as it stands, where each epoch but the first begins at a random word")
      .default_text("shuffled; with --text: file");
  o.add("sentences", sentences,
        "train on single sentences, each from a fresh state, instead of carrying the state through "
        "the text");
  o.add("documents", documents,
        "train on single documents, which a blank line ends, each from a fresh state: no window "
        "reaches into another document. In a raw text without blank lines each line is a document");
  o.add("batch-tokens", batch_tokens,
        "with --sentences or --documents: most positions in a batch, with padding; replaces "
        "--batch; 0: off")
      .at_least(0)
      .unit("tokens")
      .called("batch tokens");
  declare_accumulation(o);
}

void LmOptions::check(const Options& given) const {
  const bool apart = sentences || documents;
  require_usage(!sentences || !documents, "--sentences and --documents exclude each other");
  require_usage(!is_raw() || (train.empty() && !sample),
                "--text is the training text itself: leave out --train and --sample");
  require_usage(sample != !train_files().empty(),
                sample ? "--sample and --train exclude each other"
                       : "no training text: give --train FILE (tokenised) or --text FILE (raw), "
                         "or --sample for the built-in one");
  require_usage(token_weights.empty() || !train.empty(),
                "--token-weights are those of the words of --train");
  require_usage(!sample || (valid.empty() && test.empty()),
                "--sample brings its own validation and test text; leave out --valid and --test");
  require_usage(vocab.empty() || (vocab_size == 0 && min_count == 1),
                "--vocab is used as it is; leave out --vocab-size and --min-count");
  raw_tokenizer.check(given, is_raw(), !raw_tokenizer.tokenizer.empty(), "--text", vocab_size,
                      Specials::kLanguageModel);
  require_usage(!is_raw() || (vocab.empty() && min_count == 1 && !sentences),
                "--text has a tokenizer in place of a vocabulary of words, and documents in place "
                "of sentences: leave out --vocab, --min-count and --sentences (--tokenizer, "
                "--vocab-size and --documents are for raw text)");
  require_usage(vocab_size == 0 || vocab_size >= 3, "--vocab-size ", vocab_size,
                " leaves no room for a word besides </s> and <unk>");
  require_usage(batch_tokens == 0 || apart,
                "--batch-tokens needs --sentences or --documents; with carried state a batch is "
                "--batch times --bptt");
  check_arch(given);
  require_usage(arch != LmArch::lstm || !tie_embeddings || embed == hidden,
                "--tie-embeddings makes input and output word vectors one matrix: --embed ", embed,
                " must equal --hidden ", hidden);
  require_usage(arch != LmArch::lstm || dropout_hidden == 0 || layers > 1,
                "--dropout-hidden drops units between LSTM layers, but there is only one layer; "
                "--dropout-output drops units after the last layer");
  check_vectors(vectors, tie_embeddings);
  require_usage(lora == 0 || !init.empty(), "--lora ", lora,
                " updates the weights of a model that is there: give --init");
  require_usage(lora == 0 || freeze.empty(),
                "--lora trains nothing but low-rank updates: leave out --freeze, and choose "
                "matrices with --lora-matrices");
  require_usage(lora == 0 || !lazy_adam, "--lora changes whole matrices: leave out --lazy-adam");
  require_usage(lora == 0 || export_parity.empty(),
                "--export-parity exports the training of all parameters: leave out --lora");
  refuse_idle_flags(given,
                    {{"lora-alpha", lora > 0, "--lora"}, {"lora-matrices", lora > 0, "--lora"}});
  check_export(given, {"valid", "test"});
  check_shared(given, hidden, "--valid", sample || is_raw() || !valid.empty());
  refuse_idle_flags(
      given, {{"sample-sentences", sample, "--sample"},
              {"init-std", init.empty(), "initial values: leave out --init"},
              {"batch", batch_tokens == 0, "--batch-tokens 0, because --batch-tokens replaces it"},
              {"tar", apart || bptt > 1, "two time steps: --bptt above 1"},
              {"order", !apart, "columns: leave out --sentences and --documents"},
              {"bptt", !apart || arch == LmArch::transformer,
               "carried state: leave out --sentences and --documents"},
              {"variational", dropout + dropout_hidden + dropout_output > 0,
               "--dropout, --dropout-hidden or --dropout-output"}});
}

Json LmOptions::settled_by_init(const Options& given) {
  if (init.empty()) return Json::object();
  if (!restart && export_parity.empty() && RunDirectory::holds_run(run)) try {
      // Of a run that goes on: what it settled when it began.
      const Json before =
          given.in_present_names(read_json_object(std::filesystem::path(run) / "config.json"));
      Json out = settings_of(TransformerLanguageModelConfig{.tie_embeddings = true});
      out.update(settings_of(LstmLanguageModelConfig{}));
      for (const StyleSetting& setting : style_settings()) out[setting.name] = nullptr;
      for (const HeadSetting* setting : settings_of_models()) out[setting->name] = nullptr;
      out["head_bias"] = nullptr;
      Json found = Json::object();
      for (const auto& [key, unused] : out.items())
        if (before.contains(key)) found[key] = before[key];
      if (!before.value("init", "").empty()) return found;
    } catch (const std::exception&) {  // reported when the run is opened
    }
  const std::string error = init_error_of([&] { initial = std::make_shared<InitialModel>(init); });
  if (!error.empty()) throw Error(error);
  Json out = std::visit([](const auto& config) { return settings_of(config); }, initial->config());
  const HeadConfig of_model =
      std::visit([](const auto& config) { return config.head; }, initial->config());
  out["head_bias"] = of_model.bias;
  // Another head brings its own settings.
  for (const HeadSetting* setting : settings_of_models())
    if (given.was_named(flag_of(setting->name))) return out;
  out.update(settings_of(of_model));
  return out;
}

LowRankConfig LmOptions::low_rank() const {
  LowRankConfig out{
      .rank = lora, .alpha = lora_alpha > 0 ? lora_alpha : static_cast<double>(lora), .seed = seed};
  std::istringstream in(lora_matrices);
  for (std::string name; std::getline(in, name, ',');) out.matrices.push_back(name);
  return out;
}

TrainerConfig LmOptions::trainer() const {
  TrainerConfig out = TrainOptions::trainer();
  out.optimizer.low_rank = low_rank();
  return out;
}

void LmOptions::check_init(const Options& given, const Json& settled) const {
  if (!initial) return;
  const Json now = given.to_json();
  for (const auto& [key, value] : settled.items()) {
    const bool same = now[key] == value || (key == "kv_heads" && now[key] == heads && value == 0),
               may_differ = key == "head_bias" || (key == "tie_embeddings" && value == true) ||
                            (key == "bptt" && style.positions != Positions::learned);
    require_usage(same || may_differ, typed(key, now[key]), " contradicts --init ", init,
                  ", a model with ", typed(key, value), ": leave out --", flag_of(key));
  }
}

std::optional<ModelTokenizer> LmOptions::tokenizer_of_init() const {
  if (init.empty() || !raw_tokenizer.tokenizer.empty() || vocab_size > 0 ||
      raw_tokenizer.normalize != "none")
    return std::nullopt;
  if (initial) return initial->words().tokenizer;
  // A run that goes on has the tokenizer in its checkpoints, also if the model of --init has moved.
  for (const std::string& place : {run, init}) try {
      return language_words(model_directory(place, kDictionaryFile)).tokenizer;
    } catch (const Error&) {  // the run has no checkpoint
    }
  return std::nullopt;
}

void LmOptions::resolve(const Options& given) {
  const Json settled = settled_by_init(given);
  // The second time because defaults of --arch have replaced some.
  for (const bool again : {false, true}) {
    for (const auto& [key, value] : settled.items())
      derive(given, key, value, concat("the model of --init ", init));
    if (!again) resolve_arch(given);
  }
  check_init(given, settled);
}

void LmOptions::resolve_arch(const Options& given) {
  resolve_optimiser(given);
  const bool order_is_default =
      !given.was_named("order") || (given.replaces("text") && given.is_usual("order", "shuffled"));
  if (is_raw() && !documents && order_is_default) order = TextOrder::file;
  // A file's value that is the default of the file's own --arch gives way if the command line gives
  // another one.
  const bool other_arch = given.replaces("arch"),
             file_is_lstm = given.config_value("arch") == "lstm";
  const auto is_default = [&](const std::string& name, const Json& of_file) {
    return !given.was_named(name) || (other_arch && given.is_usual(name, of_file));
  };
  if (arch == LmArch::llama) {
    arch = LmArch::transformer;
    const TransformerStyle named = style, gpt2 = TransformerStyle::gpt2();
    style = TransformerStyle::llama();
    bool has_effect = false;
    for (const StyleSetting& setting : style_settings()) {
      const std::string own = setting.text(style);
      if (!is_default(flag_of(setting.name), given.defaults_json()[setting.name]))
        setting.set(style, setting.text(named));
      has_effect = has_effect || (own != setting.text(gpt2) && own == setting.text(style));
    }
    require_usage(has_effect,
                  "--arch llama has no effect, because --positions, --norm-type, --activation and "
                  "--linear-bias all have other values: leave these out of the command line and of "
                  "--config's file, or give --arch transformer");
  }
  const bool is_lstm = arch == LmArch::lstm;
  constexpr int64_t kWindow = 128, kWarmup = 500;  // a Transformer's
  const LmOptions of_lstm;
  if (is_default("bptt", file_is_lstm ? of_lstm.bptt : kWindow))
    bptt = is_lstm ? of_lstm.bptt : kWindow;
  if (is_default("schedule", to_text(file_is_lstm ? of_lstm.schedule : ScheduleKind::inverse_sqrt)))
    schedule = is_lstm ? of_lstm.schedule : ScheduleKind::inverse_sqrt;
  if (is_default("warmup", file_is_lstm ? of_lstm.warmup : kWarmup))
    warmup = is_lstm || schedule != ScheduleKind::inverse_sqrt ? of_lstm.warmup : kWarmup;
  const auto usual_ffn = [](int64_t width, Activation activation) {
    // Gated: as many weights as 4 times the width has without a gate.
    return is_gated(activation) ? (8 * width + 23) / 24 * 8 : 4 * width;
  };
  const Json width = given.config_value("hidden"), function = given.config_value("activation");
  const bool ffn_follows =
                 ffn == 0 ||
                 (width.is_number_integer() && function.is_string() &&
                  given.is_usual(
                      "ffn", usual_ffn(width.get<int64_t>(),
                                       enum_from_text<Activation>(function.get<std::string>())))),
             dropout_follows = given.follows("attention-dropout", "dropout") ||
                               (file_is_lstm && is_default("attention-dropout", 0));
  if (is_lstm && !other_arch) return;
  if (ffn_follows) ffn = is_lstm ? 0 : usual_ffn(hidden, style.activation);
  if (dropout_follows) attention_dropout = is_lstm ? 0 : dropout;
}

void LmOptions::check_arch(const Options& given) const {
  const bool is_lstm = arch == LmArch::lstm;
  only_with(given, is_lstm, "--arch lstm", {"embed", "dropout_hidden", "variational"});
  std::vector<const char*> of_transformer{"ffn", "heads", "recompute", "attention_dropout",
                                          "init_std"};
  for (const StyleSetting& setting : style_settings()) of_transformer.push_back(setting.name);
  only_with(given, !is_lstm, "--arch transformer", of_transformer);
  if (!is_lstm) check_style(given, style, hidden, heads);
}

std::unique_ptr<LanguageNetwork> LmOptions::network(ParameterSet& set, int64_t vocabulary) const {
  if (arch == LmArch::transformer)
    return std::make_unique<TransformerLanguageModel>(set, transformer(vocabulary));
  return std::make_unique<LstmLanguageModel>(set, lstm(vocabulary));
}

LstmLanguageModelConfig LmOptions::lstm(int64_t vocabulary) const {
  return {.vocab = vocabulary,
          .embed = embed,
          .hidden = hidden,
          .layers = layers,
          .dropout = dropout,
          .tie_embeddings = tie_embeddings,
          .head = head_config(),
          .dropout_words = dropout_words,
          .dropout_hidden = dropout_hidden,
          .dropout_output = dropout_output,
          .variational = variational,
          .activation_reg = ar,
          .temporal_activation_reg = tar};
}

TransformerLanguageModelConfig LmOptions::transformer(int64_t vocabulary) const {
  return {.vocab = vocabulary,
          .layers = layers,
          .hidden = hidden,
          .ffn = ffn,
          .heads = heads,
          .window = bptt,
          .style = style,
          .dropout = dropout,
          .attention_dropout = attention_dropout,
          .tie_embeddings = tie_embeddings,
          .init_std = init_std,
          .head = head_config(),
          .recompute = recompute,
          .dropout_words = dropout_words,
          .dropout_output = dropout_output,
          .activation_reg = ar,
          .temporal_activation_reg = tar};
}

LmBatching LmOptions::batching() const {
  return {.batch = batch,
          .bptt = bptt,
          .sentences = sentences || documents,
          .batch_tokens = batch_tokens,
          .seed = seed,
          .order = order,
          .accumulate = accumulate};
}

}  // namespace nine::app
