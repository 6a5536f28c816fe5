#include "nn/models/language_words.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "nn/models/model_directory.h"

namespace nine {

LanguageWords language_words(const std::filesystem::path& directory, int64_t entries) {
  const std::filesystem::path dictionary = directory / kDictionaryFile;
  const auto tokenizers = {"tokenizer.json", "tokenizer.model", "vocab.json"};
  const bool has_tokenizer =
      std::ranges::any_of(tokenizers, [&](const char* name) { return is_there(directory / name); });
  if (!is_there(dictionary) && has_tokenizer) {
    ModelTokenizer tokenizer =
        ModelTokenizer::of_file(directory.string(), Specials::kLanguageModel, entries);
    Vocabulary vocabulary = tokenizer.dictionary();
    return {std::move(vocabulary), std::move(tokenizer)};
  }
  require(is_there(dictionary), directory.string(), " lacks ", kDictionaryFile,
          ", the model's dictionary; a model of transformers needs its tokenizer.json there");
  Vocabulary vocabulary = Vocabulary::read_saved(dictionary.string(), Specials::kLanguageModel);
  std::optional<ModelTokenizer> tokenizer = ModelTokenizer::open(directory, "", vocabulary);
  return {std::move(vocabulary), std::move(tokenizer)};
}

}  // namespace nine
