#include "nn/models/saved_language_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/safetensors.h"
#include "nn/models/model_directory.h"

namespace nine {

namespace fs = std::filesystem;

SavedLanguageModel::SavedLanguageModel(const std::string& path, Device device)
    : directory_(model_directory(path, kDictionaryFile)),
      vocabulary_(Vocabulary::read_saved((directory_ / kDictionaryFile).string(),
                                         Specials::kLanguageModel)) {
  const Safetensors weights = read_safetensors(directory_ / "model.safetensors");
  const LanguageModelConfig config =
      LanguageModelConfig::of_weights(weights, head_of(model_config(directory_, weights.metadata)));
  require(config.vocab == vocabulary_.size(), (directory_ / kDictionaryFile).string(), " has ",
          vocabulary_.size(), " entries with </s> and <unk>, but the model has ", config.vocab,
          " words");
  parameters_ = std::make_unique<ParameterSet>(ParameterOptions{
      .dtype = weights.at("embedding.weight").dtype(), .gradients = false, .device = device});
  model_ = std::make_unique<LanguageModel>(*parameters_, config);
  parameters_->load(weights, parameters_->values());
}

void load_initial_weights(const std::string& path, const Vocabulary& vocabulary,
                          const ParameterSet& parameters) {
  const fs::path directory = model_directory(path, kDictionaryFile);
  const Vocabulary stored =
      Vocabulary::read_saved((directory / kDictionaryFile).string(), Specials::kLanguageModel);
  for (int32_t id = 0; id < std::min(stored.size(), vocabulary.size()); ++id)
    require(stored.word(id) == vocabulary.word(id), "initial weights of ", path, ": the word ", id,
            " of their vocabulary is '", stored.word(id), "', here it is '", vocabulary.word(id),
            "'; train with the vocabulary ", (directory / kDictionaryFile).string());
  parameters.load(read_safetensors(directory / "model.safetensors"), parameters.values());
}

}  // namespace nine
