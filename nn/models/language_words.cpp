#include "nn/models/language_words.h"

#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "data/tokenizers/read_tokenizer.h"
#include "nn/models/model_directory.h"

namespace nine {

LanguageWords language_words(const std::filesystem::path& directory, int64_t entries) {
  const std::filesystem::path dictionary = directory / kDictionaryFile;
  if (!is_there(dictionary) && !tokenizer_in(directory).empty()) {
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
