#include "nn/models/initial_weights.h"

#include <algorithm>

#include "core/safetensors.h"
#include "nn/models/model_directory.h"

namespace nine {
namespace {

void check_same_words(const std::string& path, const char* name, const Vocabulary& stored,
                      const Vocabulary& given) {
  for (int32_t id = 0; id < std::min(stored.size(), given.size()); ++id)
    require(stored.word(id) == given.word(id), "initial weights of ", path, ": in its ", name,
            " the word ", id, " is '", stored.word(id), "', here it is '", given.word(id),
            "'; train with the dictionaries from there (a shared vocabulary has the source's "
            "only)");
}

void load_weights(const std::filesystem::path& directory, const ParameterSet& parameters) {
  parameters.load(read_safetensors(directory / "model.safetensors"));
}

}  // namespace

void load_initial_weights(const std::string& path, const Vocabulary& vocabulary,
                          const ParameterSet& parameters) {
  const std::filesystem::path directory = model_directory(path, kDictionaryFile);
  const Vocabulary stored =
      Vocabulary::read_saved((directory / kDictionaryFile).string(), Specials::kLanguageModel);
  for (int32_t id = 0; id < std::min(stored.size(), vocabulary.size()); ++id)
    require(stored.word(id) == vocabulary.word(id), "initial weights of ", path, ": the word ", id,
            " of their vocabulary is '", stored.word(id), "', here it is '", vocabulary.word(id),
            "'; train with the vocabulary ", (directory / kDictionaryFile).string());
  load_weights(directory, parameters);
}

void load_initial_weights(const std::string& path, const Vocabulary& source,
                          const Vocabulary& target, const ParameterSet& parameters) {
  const std::filesystem::path directory = model_directory(path, kSourceDict);
  check_same_words(
      path, kSourceDict,
      Vocabulary::read_saved((directory / kSourceDict).string(), Specials::kTranslation), source);
  check_same_words(
      path, kTargetDict,
      Vocabulary::read_saved((directory / kTargetDict).string(), Specials::kTranslation), target);
  load_weights(directory, parameters);
}

}  // namespace nine
