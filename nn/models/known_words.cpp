#include "nn/models/known_words.h"

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "nn/models/model_directory.h"
#include "nn/training/checkpoint.h"

namespace nine {
namespace {

namespace fs = std::filesystem;

// The dictionary of a language model; a path without a file where there is none, which opening the
// model will say.
std::string dictionary_of(const std::string& model) {
  try {
    return (resolve_checkpoint(model) / kDictionaryFile).string();
  } catch (const Error&) {
    return (fs::path(model) / kDictionaryFile).string();
  }
}

}  // namespace

void require_known(const std::vector<std::string>& models, std::span<const std::string> lines,
                   double most, const std::string& text) {
  std::vector<std::string> dictionaries;
  for (const std::string& model : models) dictionaries.push_back(dictionary_of(model));
  const bool all_there =
      std::all_of(dictionaries.begin(), dictionaries.end(), [](const std::string& dictionary) {
        std::error_code ignored;
        return fs::is_regular_file(dictionary, ignored);
      });
  if (most >= 1 || !all_there) return;
  for (size_t m = 0; m < models.size(); ++m)
    if (!reads_raw_text(models[m]))  // whose tokenizer knows every text
      require_known(
          count_tokens(lines, Vocabulary::read_saved(dictionaries[m], Specials::kLanguageModel)),
          most, text, concat("the model ", models[m]));
}

}  // namespace nine
