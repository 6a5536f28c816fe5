// Tokenizers' files: tokenizer.json, vocab.json with merges.txt, tiktoken's ranks, SentencePiece's
// models.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/split_pattern.h"
#include "data/tokenizers/tokenizer.h"

namespace nine {

/// What a file without a split of its own leaves open: vocab.json, tiktoken's ranks.
struct TokenizerFileOptions {
  Split split = Split::gpt4;  ///< of tiktoken's ranks; vocab.json has GPT-2's split
  /// Special tokens of tiktoken's ranks, each "TEXT" or "TEXT=ID". Without an ID they get the ids
  /// that ranks leave free, lowest first, then those after the largest rank; a notice says so.
  std::vector<std::string> special_tokens{"<|endoftext|>"};
  /// True: error if the file has no ranks, where the settings above would have no effect.
  bool only_ranks = false;
};

/// Reads a tokenizer. `path` is a tokenizer.json, Mistral's tekken.json, a vocab.json beside its
/// merges.txt, a file of tiktoken's ranks, a SentencePiece model, or a folder with tokenizer.json,
/// tekken.json, vocab.json and merges.txt, or tokenizer.model. Errors name the file: it is none of
/// these; a part that Nine does not know; two tokens with one id, or two ids of one token; a merge
/// of tokens that are not in the vocabulary; a size that the file does not have.
std::unique_ptr<Tokenizer> read_tokenizer(const std::string& path,
                                          const TokenizerFileOptions& options = {});

/// The readers of the texts of files; the first one also reads tekken.json. `name` stands for the
/// file in errors.
std::unique_ptr<Tokenizer> read_tokenizer_json(const std::string& text, const std::string& name);
std::unique_ptr<Tokenizer> read_vocabulary_and_merges(const std::string& vocabulary,
                                                      const std::string& merges,
                                                      const std::string& name);
std::unique_ptr<Tokenizer> read_tiktoken(std::string_view text, const std::string& name,
                                         const TokenizerFileOptions& options = {});
std::unique_ptr<Tokenizer> read_sentencepiece(std::string_view bytes, const std::string& name);

/// Returns the text of a file of tiktoken's ranks: a line `BASE64 RANK` for each token that is not
/// added. tiktoken merges any two tokens that together are a token, by rank; the tokens of a
/// tokenizer whose merges follow another order have no such file, which is an error.
std::string tiktoken_text(const Tokenizer& tokenizer);

}  // namespace nine
