#include "apps/mt_train/mt_options.h"

#include <algorithm>

#include "apps/cli/option_conflicts.h"

namespace nine::app {

MtOptions::MtOptions() {
  run = "runs/mt";
  head_bias = false;
  label_smoothing = 0.1;
  lr = 5e-4;
  betas = {0.9, 0.98};
  schedule = ScheduleKind::inverse_sqrt;
  warmup = 4000;
  clip = 0;
  after = {30, TrainingUnit::epochs};
}

void MtOptions::declare(Options& o) {
  declare_data(o);
  declare_tokenizers(o);
  declare_model(o);
  o.group("Regularisation");
  o.add("dropout", dropout, "dropout of the embeddings and of the residual branches")
      .range_from(0, 1);
  o.add("attention-dropout", attention_dropout, "dropout of the attention weights")
      .range_from(0, 1);
  declare_head_regularisation(o);
  declare_batches(o);
  declare_validation(o);
  declare_optimiser(o);
  declare_run(o);
  declare_parity(o);
  o.group("Averaging");
  o.add("average", average,
        "average the weights of this many last checkpoints of --run, write them to RUN/average and "
        "stop; 0: train")
      .range(0, 1000)
      .unit("checkpoints");
  o.on_filled([this, &o] { resolve(o); });
}

void MtOptions::declare_data(Options& o) {
  o.group("Data");
  o.add("src", src,
        "training text of the source language, one sentence a line: words, or prose with --raw")
      .unit("FILE...");
  o.add("tgt", tgt, "translation of the --src text, line by line").unit("FILE...");
  o.add("valid-src", valid_src, "validation text, source").unit("FILE...");
  o.add("valid-tgt", valid_tgt, "validation text, target").unit("FILE...");
  o.add("test-src", test_src, "test text for the best checkpoint at the end, source")
      .unit("FILE...");
  o.add("test-tgt", test_tgt, "test text, target").unit("FILE...");
  o.add("sample", sample,
        "train on generated German and English text instead of files; the perfect translation of "
        "this text is known");
  o.add("sample-pairs", sample_pairs, "length of the sample's training text")
      .range(100, 100'000'000)
      .unit("pairs");
  o.add("shared-vocab", shared_vocab,
        "use one dictionary and one embedding matrix for both languages (default with --raw, "
        "unless the languages are given different tokenizers)");
  o.add("src-dict", src_dict,
        "source dictionary (fairseq's dict.txt), with --shared-vocab the dictionary of both "
        "languages; without it, a dictionary is built from the training text")
      .unit("FILE");
  o.add("tgt-dict", tgt_dict,
        "target dictionary (fairseq's dict.txt); without it, a dictionary is built from the "
        "training text")
      .unit("FILE");
  declare_vocabulary_limits(o,
                            "largest size of a dictionary built from the training text, with its "
                            "four special tokens; 0: no limit. With --raw: its exact size; "
                            "0: up to 8192, without pairs of symbols that occur fewer than 20 "
                            "times");
  declare_weights(o, "--tgt");
  o.add("max-length", max_length,
        "longest side of a training pair, with </s>; longer pairs are left out, and their number "
        "is printed")
      .range(2, 1 << 20)
      .unit("tokens")
      .called("maximum length");
}

void MtOptions::declare_tokenizers(Options& o) {
  o.group("Raw text (docs/mt.md)");
  o.add(
      "raw", raw,
      "the texts are prose: learn a tokenizer of bytes from the training text, for both languages "
      "together or, with --no-shared-vocab, for each; checkpoints contain it");
  raw_tokenizer.declare(o, "--raw");
  o.add("src-tokenizer", src_tokenizer, "with --raw: tokenizer for the source language alone")
      .unit("FILE");
  o.add("tgt-tokenizer", tgt_tokenizer, "with --raw: tokenizer for the target language alone")
      .unit("FILE");
}

void MtOptions::declare_model(Options& o) {
  o.group("Model");
  o.add("layers", layers, "number of layers of the encoder and of the decoder")
      .range(1, 64)
      .called("number of layers");
  o.add("encoder-layers", encoder_layers, "number of layers of the encoder; 0: --layers")
      .range(0, 64)
      .default_text("--layers");
  o.add("decoder-layers", decoder_layers, "number of layers of the decoder; 0: --layers")
      .range(0, 64)
      .default_text("--layers");
  o.add("hidden", hidden, "width of the model").range(2, 65536).unit("units").called("hidden size");
  o.add("ffn", ffn, "inner width of the feed-forward layers")
      .range(1, 1 << 20)
      .unit("units")
      .called("feed-forward size");
  o.add("heads", heads, "number of attention heads")
      .range(1, 1024)
      .called("number of attention heads");
  declare_style(o, style, recompute, "", false);
  o.add("tie-embeddings", tie_embeddings,
        "use one matrix for the decoder's embeddings and the output word vectors")
      .called("tied embeddings");
  declare_head(o);
}

void MtOptions::declare_batches(Options& o) {
  o.group("Batches");
  o.add("batch-tokens", batch_tokens,
        "most positions in a batch, which are its pairs times the length of its longest sentence "
        "with </s>; 0: no limit")
      .at_least(0)
      .unit("tokens")
      .called("batch tokens");
  o.add("batch", batch, "most pairs in a batch; 0: no limit")
      .at_least(0)
      .unit("pairs")
      .called("batch size");
  declare_accumulation(o);
}

void MtOptions::declare_validation(Options& o) {
  o.group("Validation");
  o.add("best-metric", best_metric,
        "metric that decides which checkpoint is the best; --early-stop and --schedule plateau "
        "watch it")
      .called("best metric");
  o.add("valid-beam", valid_beam,
        "beam size of the translations whose BLEU is reported; 0: translate nothing")
      .range(0, 100)
      .called("validation beam");
  o.add("valid-translations", valid_translations,
        "number of validation translations that the log and the report show")
      .range(0, 1000);
}

void MtOptions::resolve(const Options& given) {
  resolve_optimiser(given);
  if (encoder_layers == 0 || given.follows("encoder-layers", "layers")) encoder_layers = layers;
  if (decoder_layers == 0 || given.follows("decoder-layers", "layers")) decoder_layers = layers;
  if (raw && src_tokenizer.empty() && tgt_tokenizer.empty() && !given.was_named("shared-vocab"))
    shared_vocab = true;
}

void MtOptions::check_tokenizers(const Options& given) const {
  raw_tokenizer.check(
      given, raw,
      !raw_tokenizer.tokenizer.empty() || !src_tokenizer.empty() || !tgt_tokenizer.empty(), "--raw",
      vocab_size, Specials::kTranslation);
  only_with(given, raw, "--raw", {"src_tokenizer", "tgt_tokenizer"});
  if (!raw) return;
  const bool own = !src_tokenizer.empty() || !tgt_tokenizer.empty();
  require_usage(src_dict.empty() && tgt_dict.empty(),
                "--raw has the dictionary of its tokenizer: leave out --src-dict and --tgt-dict");
  require_usage(!own || raw_tokenizer.tokenizer.empty(),
                "--tokenizer is for both languages: leave out --src-tokenizer and --tgt-tokenizer");
  require_usage(!own || !shared_vocab,
                "--shared-vocab has one tokenizer for both languages: give it as --tokenizer");
  require_usage(
      src_tokenizer.empty() || tgt_tokenizer.empty() ||
          (vocab_size == 0 && raw_tokenizer.normalize == "none"),
      "--vocab-size and --normalize are for a tokenizer that is learned; --src-tokenizer and "
      "--tgt-tokenizer are used as they are");
  const char* words = "a dictionary of words, which --raw does not have";
  only_with(given, false, words, {"min_count"});
  only_with(given, own || !raw_tokenizer.tokenizer.empty(),
            "a given tokenizer, because one that is learned has a token for every text",
            {"max_unknown"});
}

void MtOptions::check(const Options& given) const {
  require_usage(!sample || (src.empty() && tgt.empty()), "--sample and --src exclude each other");
  require_usage(
      sample || (!src.empty() && !tgt.empty()),
      "no training text: give --src FILE and --tgt FILE, or --sample for a generated one");
  require_usage(
      !sample || (valid_src.empty() && valid_tgt.empty() && test_src.empty() && test_tgt.empty()),
      "--sample brings its own validation and test text; leave out --valid-src, --valid-tgt, "
      "--test-src and --test-tgt");
  require_usage(token_weights.empty() || (!sample && !raw),
                "--token-weights are those of the words of --tgt: leave out --sample and --raw");
  require_usage(valid_src.empty() == valid_tgt.empty(), "--valid-src and --valid-tgt go together");
  require_usage(test_src.empty() == test_tgt.empty(), "--test-src and --test-tgt go together");
  require_usage(!shared_vocab || tgt_dict.empty(),
                "--shared-vocab has one dictionary: give it as --src-dict alone");
  check_tokenizers(given);
  const bool built = src_dict.empty() || (!shared_vocab && tgt_dict.empty());
  require_usage(built || (vocab_size == 0 && min_count == 1),
                "the dictionaries of --src-dict and --tgt-dict are used as they are; leave out "
                "--vocab-size and --min-count");
  require_usage(vocab_size == 0 || vocab_size > Specials::kTranslation.size, "--vocab-size ",
                vocab_size, " leaves no room for a word besides the four specials");
  check_style(given, style, hidden, heads);
  require_usage(
      batch_tokens > 0 || batch > 0,
      "--batch-tokens 0 and --batch 0 leave batches without a limit; give one of the two");
  require_usage(best_metric != BestMetric::bleu || valid_beam > 0,
                "--best-metric bleu needs translations: --valid-beam must be at least 1");
  check_export(given, {"valid-src", "valid-tgt", "test-src", "test-tgt", "best-metric",
                       "valid-beam", "valid-translations"});
  check_shared(given, hidden, "--valid-src and --valid-tgt", has_valid());
  const char* valid = "validation text: --valid-src and --valid-tgt";
  refuse_idle_flags(given, {{"sample-pairs", sample, "--sample"},
                            {"best-metric", has_valid(), valid},
                            {"valid-beam", has_valid() || !test_src.empty(),
                             "validation or test text: --valid-src and --valid-tgt, or --test-src "
                             "and --test-tgt"},
                            {"valid-translations", has_valid() && valid_beam > 0,
                             valid_beam > 0 ? valid : "--valid-beam above 0"}});
}

int64_t MtOptions::positions() const { return std::max(kFewestPositions, max_length); }

TransformerConfig MtOptions::model(int64_t src_vocab, int64_t tgt_vocab) const {
  return {.src_vocab = src_vocab,
          .tgt_vocab = tgt_vocab,
          .encoder_layers = encoder_layers,
          .decoder_layers = decoder_layers,
          .dim = hidden,
          .ffn = ffn,
          .heads = heads,
          .dropout = dropout,
          .attention_dropout = attention_dropout,
          .style = style,
          .shared_vocab = shared_vocab,
          .tie_embeddings = tie_embeddings,
          .head = head_config(),
          .max_length = positions(),
          .recompute = recompute};
}

TrainerConfig MtOptions::trainer() const {
  TrainerConfig config = TrainOptions::trainer();
  config.best_metric = best_metric;
  return config;
}

}  // namespace nine::app
