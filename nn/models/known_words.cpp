#include "nn/models/known_words.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "core/error.h"
#include "data/text.h"
#include "nn/models/model_directory.h"
#include "nn/models/word_mixture.h"
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

// True if a model has a dictionary of its own; n-gram models have none.
bool has_dictionary(const std::string& dictionary) {
  std::error_code ignored;
  return fs::is_regular_file(dictionary, ignored);
}

// The dictionaries of the models; empty if one is missing.
std::vector<std::string> dictionaries_of(const std::vector<std::string>& models) {
  std::vector<std::string> dictionaries;
  for (const std::string& model : models) dictionaries.push_back(dictionary_of(model));
  const bool all_there = std::all_of(dictionaries.begin(), dictionaries.end(), has_dictionary);
  return all_there ? dictionaries : std::vector<std::string>();
}

Vocabulary read_dictionary(const std::string& path) {
  return Vocabulary::read_saved(path, Specials::kLanguageModel);
}

}  // namespace

void require_known(const std::vector<std::string>& models, std::span<const std::string> lines,
                   double most, const std::string& text) {
  if (most >= 1) return;
  std::vector<std::string> own;  // models of Nine
  for (const std::string& model : models) {
    if (is_ngram_file(model)) continue;
    if (!has_dictionary(dictionary_of(model))) return;
    own.push_back(model);
  }
  for (const std::string& model : own)
    if (!reads_raw_text(model))  // whose tokenizer knows every text
      require_known(count_tokens(lines, read_dictionary(dictionary_of(model))), most, text,
                    concat("the model ", model));
}

std::string partly_known_warning(const std::vector<std::string>& models,
                                 std::span<const std::string> lines, const std::string& text) {
  if (models.size() < 2 || reads_raw_text(models[0])) return "";
  std::vector<Vocabulary> known;
  for (const std::string& dictionary : dictionaries_of(models))
    known.push_back(read_dictionary(dictionary));
  int64_t partly = 0, tokens = 0;
  std::vector<std::string_view> words;
  for (const std::string_view line : std::set<std::string_view>(lines.begin(), lines.end())) {
    split_words(line, words);
    tokens += std::ssize(words) + 1;
    for (const std::string_view word : words) {
      const auto lacking = std::ranges::count_if(known, [&](const Vocabulary& v) {
        return v.id(word) == Specials::kLanguageModel.unknown;
      });
      partly += lacking > 0 && lacking < std::ssize(known) ? 1 : 0;
    }
  }
  if (partly == 0) return "";
  return concat(text, ": ", partly, " of ", tokens,
                " tokens are known to some of the models alone: the others give them the "
                "probability of <unk>, that of all unknown words together. Models of one "
                "vocabulary do not have this fault");
}

}  // namespace nine
