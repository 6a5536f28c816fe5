// The options of mt_train as one struct, and the configurations that follow from them. The defaults
// are those of the paper (Gao et al., 2019, section 4.2).
#pragma once

#include <string>
#include <vector>

#include "apps/training/raw_tokenizer.h"
#include "apps/training/train_options.h"
#include "nn/training/translation_task.h"

namespace nine::app {

/// The least number of positions of a translation model, also for a smaller --max-length.
inline constexpr int64_t kFewestPositions = 1024;

/// The values of mt_train's flags. Each value has the name of its flag.
struct MtOptions : TrainOptions {
  MtOptions();

  // Data
  std::vector<std::string> src, tgt, valid_src, valid_tgt, test_src, test_tgt;
  bool sample = false;
  int64_t sample_pairs = 20000;
  bool shared_vocab = false;
  std::string src_dict, tgt_dict;
  bool raw = false;
  RawTokenizerOptions raw_tokenizer;
  std::string src_tokenizer, tgt_tokenizer;
  int64_t max_length = kFewestPositions;
  // Model
  int64_t layers = 6, encoder_layers = 0, decoder_layers = 0, hidden = 512, ffn = 1024, heads = 4;
  TransformerStyle style = {};
  bool recompute = false;
  bool tie_embeddings = true;
  // Regularisation
  double dropout = 0.3, attention_dropout = 0;
  // Batches
  int64_t batch = 0, batch_tokens = 4096;
  // Validation
  BestMetric best_metric = BestMetric::nll;
  int64_t valid_beam = 1, valid_translations = 4;
  // Instead of training
  int64_t average = 0;

  /// Declares every flag, bound to these fields.
  void declare(Options& options);
  /// Checks flags against each other, and that every given flag has an effect. Throws UsageError.
  void check(const Options& given) const;

  bool has_valid() const { return sample || !valid_src.empty(); }
  /// Returns the number of positions of the model: --max-length, but at least kFewestPositions.
  int64_t positions() const;
  TransformerConfig model(int64_t src_vocab, int64_t tgt_vocab) const;
  PairBatchSize batching() const { return {.tokens = batch_tokens, .pairs = batch}; }
  TrainerConfig trainer() const override;

 private:
  // Sets, after parsing, the layers of encoder and decoder to --layers if their own options were
  // not given, and what --raw implies.
  void resolve(const Options& given);
  void check_tokenizers(const Options& given) const;
  // Declare the flags of a group.
  void declare_data(Options& options);
  void declare_tokenizers(Options& options);
  void declare_model(Options& options);
  void declare_batches(Options& options);
  void declare_validation(Options& options);
};

}  // namespace nine::app
