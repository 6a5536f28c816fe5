#include "nn/models/dictionary_identity.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "data/vocabulary.h"
#include "nn/models/model_directory.h"

namespace nine {

namespace {

struct Dictionary {
  const char *file, *key;
  const Specials& specials;
};
const Dictionary kDictionaries[] = {{kDictionaryFile, "vocab", Specials::kLanguageModel},
                                    {kSourceDict, "src_dict", Specials::kTranslation},
                                    {kTargetDict, "tgt_dict", Specials::kTranslation}};

}  // namespace

Json dictionaries_of(const Json& identity) {
  Json all = Json::object();
  for (const Dictionary& d : kDictionaries)
    if (identity.contains(d.key)) all[d.key] = identity[d.key];
  return all;
}

std::string dictionary_differences(const std::filesystem::path& directory, const Json& identity) {
  std::string all;
  if (!identity.is_object()) return all;
  for (const auto& [name, key, specials] : kDictionaries) {
    if (!is_there(directory / name) || !identity.contains(key)) continue;
    const uint32_t words =
        Vocabulary::read_saved((directory / name).string(), specials).word_checksum();
    if (identity[key] != words)
      all += concat("the words of ", name, " have the checksum ", words, ", where that file has ",
                    json_text(identity[key]), "; ");
  }
  return all;
}

}  // namespace nine
