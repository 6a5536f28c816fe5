// The options of lm_train as one struct, and the configurations that follow from them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/training/raw_tokenizer.h"
#include "apps/training/train_options.h"
#include "nn/models/initial_weights.h"
#include "nn/models/language_config.h"
#include "nn/training/language_model_task.h"

namespace nine {

namespace app {
/// The networks of --arch: those of LanguageArch, and names of a Transformer with other defaults.
enum class LmArch : uint8_t { lstm, transformer, llama };
}  // namespace app

template <>
inline constexpr EnumNames<app::LmArch, 3> kEnumNames<app::LmArch>{
    "architecture",
    {{{app::LmArch::lstm, "lstm"},
      {app::LmArch::transformer, "transformer"},
      {app::LmArch::llama, "llama"}}}};

}  // namespace nine

namespace nine::app {

/// The values of lm_train's flags. Each value has the name of its flag.
struct LmOptions : TrainOptions {
  LmOptions() { run = "runs/lm"; }

  // Data
  std::vector<std::string> train, text, valid, test;
  RawTokenizerOptions raw_tokenizer;
  bool sample = false;
  int64_t sample_sentences = 20000;
  std::string vocab;
  // Model
  LmArch arch = LmArch::lstm;  // after parsing, llama is transformer with its style
  int64_t layers = 2, hidden = 512, embed = 512, ffn = 0, heads = 8;
  TransformerStyle style = TransformerStyle::gpt2();
  bool recompute = false;
  double init_std = 0.02;
  double dropout = 0.1, attention_dropout = 0;
  bool tie_embeddings = false;
  std::vector<std::string> vectors;
  int64_t lora = 0;
  double lora_alpha = 0;
  std::string lora_matrices = "transformer.layers.*.self_attn.*weight";
  // Regularisation
  double dropout_words = 0, dropout_hidden = 0, dropout_output = 0;
  bool variational = false;
  double ar = 0, tar = 0;
  // Batches
  int64_t batch = 32, bptt = 35, batch_tokens = 0;
  bool sentences = false, documents = false;
  TextOrder order = TextOrder::shuffled;

  /// True if the texts are raw: --text stands for --train.
  bool is_raw() const { return !text.empty(); }
  /// The flag and the files of the training text.
  const char* train_flag() const { return is_raw() ? "--text" : "--train"; }
  const std::vector<std::string>& train_files() const { return is_raw() ? text : train; }

  /// The model of --init, opened while options were parsed; null without --init, and for a run that
  /// goes on, whose configuration has the model's sizes.
  std::shared_ptr<InitialModel> initial;

  TrainerConfig trainer() const override;
  LowRankConfig low_rank() const;
  /// Returns the tokenizer of raw text that the model of --init brings: if there is one, and no
  /// option asks for another.
  std::optional<ModelTokenizer> tokenizer_of_init() const;

  /// Declares every flag, bound to these fields.
  void declare(Options& options);
  /// Checks flags against each other, and that every given flag has an effect. Throws UsageError.
  void check(const Options& given) const;

  /// Declares the network's parameters in `set`.
  std::unique_ptr<LanguageNetwork> network(ParameterSet& set, int64_t vocabulary) const;
  LmBatching batching() const;

 private:
  // Sets, after parsing, options that were not given: from the model of --init, and the defaults of
  // --arch.
  void resolve(const Options& given);
  void resolve_arch(const Options& given);
  // Returns what the model of --init settles, by keys of options; an empty object without --init.
  // Opens the model, but for a run that goes on.
  Json settled_by_init(const Options& given);
  void check_init(const Options& given, const Json& settled) const;
  void check_arch(const Options& given) const;
  LstmLanguageModelConfig lstm(int64_t vocabulary) const;
  TransformerLanguageModelConfig transformer(int64_t vocabulary) const;
  // Declare the flags of a group.
  void declare_data(Options& options);
  void declare_model(Options& options);
  void declare_regularisation(Options& options);
  void declare_batches(Options& options);
};

}  // namespace nine::app
