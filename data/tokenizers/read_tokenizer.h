// Tokenizers' files: tokenizer.json, vocab.json with merges.txt, tiktoken's ranks, SentencePiece's
// models.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/split_pattern.h"
#include "data/tokenizers/tokenizer.h"

namespace nine {

/// Settings of tiktoken's ranks, whose files have neither a split nor special tokens.
struct TokenizerFileOptions {
  std::optional<Split> split = {};  ///< without it GPT-4's; a notice says so
  /// Special tokens, each "TEXT" or "TEXT=ID". Without an ID they get the ids that ranks leave
  /// free, lowest first, then those after the largest rank; a notice says so.
  std::vector<std::string> special_tokens{"<|endoftext|>"};
  /// True: a file of another format is an error, because the settings above do not change it.
  bool only_ranks = false;
};

/// Returns the file that read_tokenizer() reads in a folder: the first of tokenizer.json,
/// tekken.json, vocab.json and tokenizer.model that is there; an empty path if there is none.
std::filesystem::path tokenizer_in(const std::filesystem::path& folder);

/// Reads a tokenizer. `path` is a tokenizer.json, Mistral's tekken.json, a vocab.json beside its
/// merges.txt, a file of tiktoken's ranks, a SentencePiece model, or a folder with tokenizer.json,
/// tekken.json, vocab.json and merges.txt, or tokenizer.model. Errors name the file: it is none of
/// these; a part that Nine does not know; two tokens with one id, or two ids of one token; a merge
/// of tokens that are not in the vocabulary; a field that the file's end cuts off.
std::unique_ptr<Tokenizer> read_tokenizer(const std::string& path,
                                          const TokenizerFileOptions& options = {});

/// Read a tokenizer from the text of a file; read_tokenizer_json() also reads tekken.json. Errors
/// call the file `name`.
std::unique_ptr<Tokenizer> read_tokenizer_json(const std::string& text, const std::string& name);
std::unique_ptr<Tokenizer> read_vocabulary_and_merges(const std::string& vocabulary,
                                                      const std::string& merges,
                                                      const std::string& name);
std::unique_ptr<Tokenizer> read_tiktoken(std::string_view text, const std::string& name,
                                         const TokenizerFileOptions& options = {});
std::unique_ptr<Tokenizer> read_sentencepiece(std::string_view bytes, const std::string& name);

/// Returns the text of a file of tiktoken's ranks: a line `BASE64 RANK` for each token that is not
/// special. Errors: the tokenizer is not byte-level BPE, or normalises; its merges are not in the
/// order of the ids that they make, because tiktoken merges by rank.
std::string tiktoken_text(const Tokenizer& tokenizer);

/// Returns a tokenizer.json for other programs. For a SentencePiece model it has the parts that
/// Hugging Face transformers converts the model into: a few texts get other ids than from the
/// model itself (docs/tokenizers.md). For any other tokenizer it is json(). Errors name a piece
/// that the format cannot express.
std::string converted_json(const Tokenizer& tokenizer);

}  // namespace nine
