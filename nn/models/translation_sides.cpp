#include "nn/models/translation_sides.h"

#include <nlohmann/json.hpp>

#include "core/quote.h"
#include "nn/models/model_directory.h"
#include "nn/models/translation_config.h"

namespace nine {
namespace {

namespace fs = std::filesystem;

void check_size(const fs::path& file, const Vocabulary& dictionary, int64_t words) {
  require(dictionary.size() == words, file.string(), " has ", dictionary.size(),
          " words with the four specials, but the model has ", words);
}

// Error: two dictionaries of one table of embeddings have different words.
void check_same_words(const fs::path& directory, const Vocabulary& source,
                      const Vocabulary& target) {
  for (int32_t id = 0; id < source.size(); ++id)
    require(source.word(id) == target.word(id), directory.string(),
            " has one embedding for both languages (no src_embedding.weight), but word ", id,
            " is ", quote(source.word(id)), " in ", kSourceDict, " and ", quote(target.word(id)),
            " in ", kTargetDict, ": put the model's own dictionary in the place of both");
}

// Opens the dictionary and the tokenizer of a side, "src" or "tgt".
TranslationSide read_side(const fs::path& directory, const char* dictionary, const char* side) {
  TranslationSide out{
      Vocabulary::read_saved((directory / dictionary).string(), Specials::kTranslation)};
  out.tokenizer = ModelTokenizer::open(directory, side, out.dictionary);
  return out;
}

}  // namespace

TranslationSides read_sides(const fs::path& directory) {
  TranslationSides sides{read_side(directory, kSourceDict, "src"),
                         read_side(directory, kTargetDict, "tgt")};
  require(sides.source.tokenizer.has_value() == sides.target.tokenizer.has_value(),
          directory.string(),
          " has a tokenizer for one language only: put the model's own files together");
  return sides;
}

TransformerConfig transformer_config(ModelFiles& files, const TranslationSides& sides) {
  const Json* const raw = files.find("raw");
  require(raw == nullptr || *raw != true || sides.source.tokenizer, files.said_in("raw"),
          " says that the model reads raw text, and there is no tokenizer beside it: put the "
          "model's own tokenizer.json (or tokenizer.model) there");
  TransformerConfig config = transformer_config(files);
  check_size(files.directory / kSourceDict, sides.source.dictionary, config.src_vocab);
  check_size(files.directory / kTargetDict, sides.target.dictionary, config.tgt_vocab);
  if (config.shared_vocab)
    check_same_words(files.directory, sides.source.dictionary, sides.target.dictionary);
  return config;
}

std::vector<std::pair<std::string, std::string>> tokenizer_files(const TranslationSides& sides) {
  const auto &source = sides.source.tokenizer, &target = sides.target.tokenizer;
  if (!source || !target) return {};
  if (source->checksum() == target->checksum()) return {source->file("")};
  return {source->file("src"), target->file("tgt")};
}

}  // namespace nine
