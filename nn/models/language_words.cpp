#include "nn/models/language_words.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "data/tokenizers/read_tokenizer.h"
#include "nn/models/model_directory.h"

namespace nine {

namespace {

// Error: a model of transformers has only vocab.json and merges.txt, which do not say how its
// tokenizer cuts text (they are GPT-2's), and which tokens were added.
void require_whole_tokenizer(const std::filesystem::path& directory) {
  if (tokenizer_in(directory).filename() != "vocab.json") return;
  const Json config = model_config(directory);
  const auto type = config.find("model_type");
  require((type == config.end() || *type == "gpt2") && !is_there(directory / "added_tokens.json"),
          directory.string(), " has vocab.json and merges.txt, which do not say how its tokenizer ",
          "cuts text and which tokens were added. Write its tokenizer.json: AutoTokenizer",
          ".from_pretrained(FOLDER).save_pretrained(FOLDER) in Python's transformers does");
}

}  // namespace

LanguageWords language_words(const std::filesystem::path& directory, int64_t entries) {
  const std::filesystem::path dictionary = directory / kDictionaryFile;
  if (!is_there(dictionary) && !tokenizer_in(directory).empty()) {
    require_whole_tokenizer(directory);
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
