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

// The spellings of the tokens that a folder of transformers adds to its tokenizer.
std::vector<std::string> added_tokens(const std::filesystem::path& directory, const Json& config) {
  std::vector<std::string> found;
  const auto add = [&](const Json& token) {
    if (token.is_string()) found.push_back(token);
    if (token.is_object() && token.value("content", Json()).is_string())
      found.push_back(token["content"]);
  };
  for (const char* key :
       {"added_tokens_decoder", "additional_special_tokens", "extra_special_tokens"})
    for (const Json& token : config.value(key, Json::array())) add(token);
  if (const auto file = directory / "added_tokens.json"; is_there(file)) {
    const Json added = read_json_object(file);
    for (const auto& [token, id] : added.items()) found.push_back(token);
  }
  return found;
}

// Error: tokenizer_config.json or added_tokens.json change the tokenizer, as transformers reads
// them.
void require_no_changes(const std::filesystem::path& directory, const Tokenizer& tokenizer) {
  const std::filesystem::path file = directory / "tokenizer_config.json";
  const Json config = is_there(file) ? read_json_object(file) : Json::object();
  constexpr const char* kMend =
      ": AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER) in Python's transformers "
      "writes a tokenizer.json that has it";
  for (const std::string& token : added_tokens(directory, config))
    require(tokenizer.find(token) >= 0, directory.string(), " adds the token ", quote(token),
            ", and its tokenizer lacks it", kMend);
  require(config.value("add_prefix_space", Json()) != true ||
              tokenizer.encode("a", {}) == tokenizer.encode(" a", {}),
          file.string(),
          " says \"add_prefix_space\": true, and the tokenizer puts no space before ", "a text",
          kMend);
}

}  // namespace

LanguageWords language_words(const std::filesystem::path& directory, int64_t entries) {
  const std::filesystem::path dictionary = directory / kDictionaryFile;
  if (!is_there(dictionary) && !tokenizer_in(directory).empty()) {
    require_whole_tokenizer(directory);
    ModelTokenizer tokenizer =
        ModelTokenizer::of_file(directory.string(), Specials::kLanguageModel, entries);
    require_no_changes(directory, tokenizer.tokenizer());
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
