#include "nn/models/initial_weights.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json.h"
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

void load_weights(const std::string& path, const std::filesystem::path& directory,
                  const ParameterSet& parameters,
                  const std::map<std::string, std::string>& network) {
  const Safetensors file = read_safetensors(directory / "model.safetensors");
  require_finite_weights(file, (directory / "model.safetensors").string(), ExcludedWords::refused);
  const Json config = model_config(directory, file.metadata);
  // An LSTM's config.json has a Transformer's settings too: the kind of network comes first.
  for (const char* name : {"arch", "heads", "activation", "positions"}) {
    const auto stored = config.find(name);
    const auto given = network.find(name);
    if (stored == config.end() || given == network.end()) continue;
    const std::string text = stored->is_string() ? stored->get<std::string>() : json_text(*stored);
    require(text == given->second, "initial weights of ", path, ": they are of a network with ",
            name, ' ', text, ", this one has ", given->second,
            ", and its values would be others; give it theirs");
  }
  try {
    parameters.load(file);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& e) {
    fail("initial weights of ", path, ": ", e.what(),
         "; the network and its head must be as there (its config.json)");
  }
}

}  // namespace

void load_initial_weights(const std::string& path, const Vocabulary& vocabulary,
                          const ParameterSet& parameters,
                          const std::map<std::string, std::string>& network) {
  const std::filesystem::path directory = model_directory(path, kDictionaryFile);
  const Vocabulary stored =
      Vocabulary::read_saved((directory / kDictionaryFile).string(), Specials::kLanguageModel);
  for (int32_t id = 0; id < std::min(stored.size(), vocabulary.size()); ++id)
    require(stored.word(id) == vocabulary.word(id), "initial weights of ", path, ": the word ", id,
            " of their vocabulary is '", stored.word(id), "', here it is '", vocabulary.word(id),
            "'; train with the vocabulary ", (directory / kDictionaryFile).string());
  load_weights(path, directory, parameters, network);
}

void load_initial_weights(const std::string& path, const Vocabulary& source,
                          const Vocabulary& target, const ParameterSet& parameters,
                          const std::map<std::string, std::string>& network) {
  const std::filesystem::path directory = model_directory(path, kSourceDict);
  check_same_words(
      path, kSourceDict,
      Vocabulary::read_saved((directory / kSourceDict).string(), Specials::kTranslation), source);
  check_same_words(
      path, kTargetDict,
      Vocabulary::read_saved((directory / kTargetDict).string(), Specials::kTranslation), target);
  load_weights(path, directory, parameters, network);
}

}  // namespace nine
