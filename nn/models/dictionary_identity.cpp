#include "nn/models/dictionary_identity.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "data/vocabulary.h"
#include "nn/models/model_directory.h"

namespace nine {

std::string dictionary_differences(const std::filesystem::path& directory, const Json& identity) {
  struct Dictionary {
    const char *file, *key;
    const Specials& specials;
  };
  std::string all;
  if (!identity.is_object()) return all;
  for (const auto& [name, key, specials] :
       {Dictionary{kDictionaryFile, "vocab", Specials::kLanguageModel},
        Dictionary{kSourceDict, "src_dict", Specials::kTranslation},
        Dictionary{kTargetDict, "tgt_dict", Specials::kTranslation}}) {
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
