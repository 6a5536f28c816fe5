#include "apps/training/raw_tokenizer.h"

#include <sstream>

#include "apps/cli/option_conflicts.h"
#include "core/error.h"
#include "data/text.h"
#include "data/tokenizers/raw_text.h"

namespace nine::app {

void RawTokenizerOptions::declare(Options& o, const std::string& raw) {
  o.add("tokenizer", tokenizer,
        "with " + raw +
            ": tokenizer of the model (tokenizer.json, tiktoken's ranks, a SentencePiece model), "
            "in place of one that is learned from the training text")
      .unit("FILE");
  o.add("normalize", normalize,
        "with " + raw + ": Unicode normal form into which a tokenizer that is learned puts text")
      .choices({"none", "nfc", "nfkc"});
  o.add("split", split, "split of tiktoken's ranks, whose file has none; default: gpt4")
      .choices(enum_names<Split>());
  o.add("special-tokens", special_tokens,
        "special tokens of tiktoken's ranks; TEXT=ID gives the id too")
      .unit("TEXT...");
}

void RawTokenizerOptions::check(const Options& given, bool is_raw, bool reads_file,
                                const std::string& raw, int64_t vocab_size,
                                const Specials& specials) const {
  only_with(given, is_raw, raw.c_str(), {"tokenizer", "normalize"});
  only_with(given, reads_file, "--tokenizer", {"split", "special_tokens"});
  require_usage(normalize == "none" || tokenizer.empty(),
                "--normalize is for a tokenizer that is learned; --tokenizer is used as it is");
  require_usage(!is_raw || vocab_size == 0 || tokenizer.empty(),
                "--vocab-size is for a tokenizer that is learned; --tokenizer is used as it is");
  require_usage(!is_raw || vocab_size == 0 || vocab_size >= kFewestTokens + specials.size,
                "--vocab-size ", vocab_size, " leaves no room for the ", kFewestTokens,
                " bytes beside the ", specials.size, " special words: with ", raw,
                " it is at least ", kFewestTokens + specials.size);
}

ModelTokenizer RawTokenizerOptions::read(const std::string& file, const Specials& specials) const {
  TokenizerFileOptions how{.special_tokens = special_tokens};
  how.only_ranks = !split.empty() || special_tokens != TokenizerFileOptions().special_tokens;
  if (!split.empty()) how.split = enum_from_text<Split>(split);
  return ModelTokenizer::of_file(file, specials, 0, how);
}

ModelTokenizer RawTokenizerOptions::make(std::span<const std::string_view> texts,
                                         const std::string& name, int64_t vocab_size,
                                         const Specials& specials) const {
  if (!tokenizer.empty()) return read(tokenizer, specials);
  TokenizerTrainer trainer(training(vocab_size, specials));
  for (const std::string_view text : texts) {
    std::istringstream in{std::string(text)};
    TextReader reader(in, name, kRawText);
    trainer.add(reader);
  }
  return learned(trainer, name, vocab_size, specials);
}

TokenizerTraining RawTokenizerOptions::training(int64_t vocab_size,
                                                const Specials& specials) const {
  TokenizerTraining how{
      .vocabulary_size = (vocab_size > 0 ? vocab_size : kRawVocabulary) - specials.size,
      .min_frequency = vocab_size > 0 ? 2 : kRawMinFrequency,
      .special_tokens = {}};
  if (normalize != "none") how.form = normalize == "nfc" ? UnicodeForm::nfc : UnicodeForm::nfkc;
  return how;
}

ModelTokenizer learned(const TokenizerTrainer& trainer, const std::string& name, int64_t vocab_size,
                       const Specials& specials) {
  ModelTokenizer tokenizer(trainer.train(), specials);
  const int64_t entries = tokenizer.tokenizer().size() + specials.size;
  require(vocab_size == 0 || entries == vocab_size, name, " gives a vocabulary of ", entries,
          " entries at most, because no pair of symbols occurs twice any more: lower --vocab-size ",
          vocab_size, " to ", entries, " or less, or give more text");
  return tokenizer;
}

}  // namespace nine::app
