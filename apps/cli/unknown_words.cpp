#include "apps/cli/unknown_words.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "core/error.h"
#include "data/spelled_specials.h"
#include "nn/models/model_directory.h"
#include "nn/training/checkpoint.h"

namespace nine::app {
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

void add_max_unknown(Options& o, double& most) {
  o.add("max-unknown", most,
        "largest share of unknown words in a text; a larger share is an error, because the "
        "vocabulary does not fit the text; 1: accept any text")
      .range(0, 1)
      .called("share of unknown words");
}

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
    nine::require_known(
        count_tokens(lines, Vocabulary::read_saved(dictionaries[m], Specials::kLanguageModel)),
        most, text, concat("the model ", models[m]));
}

void say_spelled_specials(const SpelledSpecials& spelled, const std::string& text,
                          const std::function<void(std::string)>& say) {
  if (std::string message = spelled.message(text); !message.empty()) say(std::move(message));
}

void say_spelled_specials(const SpelledSpecials& spelled, const std::string& text,
                          const char* program) {
  say_spelled_specials(spelled, text, [&](const std::string& message) {
    std::fprintf(stderr, "%s: %s\n", program, message.c_str());
  });
}

}  // namespace nine::app
