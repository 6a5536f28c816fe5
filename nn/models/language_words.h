// The words of a trained language model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "data/tokenizers/model_tokenizer.h"
#include "data/vocabulary.h"

namespace nine {

/// A model's dictionary, and its tokenizer if it reads raw text.
struct LanguageWords {
  Vocabulary vocabulary;
  std::optional<ModelTokenizer> tokenizer;
};

/// Opens the words in a model's directory, which model_directory() returned. A directory of
/// transformers has a tokenizer and no dict.txt: the tokenizer then makes the dictionary, with
/// `entries` entries (0: as many as its tokens need). Errors: neither is there; the tokens are not
/// those of the dictionary; those of ModelTokenizer::of_file.
LanguageWords language_words(const std::filesystem::path& directory, int64_t entries = 0);

}  // namespace nine
