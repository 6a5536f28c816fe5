#include "nn/models/write_model.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "core/version.h"
#include "nn/models/hugging_face.h"
#include "nn/models/language_config.h"
#include "nn/models/language_words.h"
#include "nn/models/model_description.h"
#include "nn/models/model_directory.h"

namespace nine {

void write_model(ModelFiles files, const std::filesystem::path& directory) {
  const Tensor& table = files.embedding("lm");
  const LanguageWords words = language_words(files.directory, table.shape().rows());
  files.opening([&] {
    ParameterSet parameters({.dtype = table.dtype(), .gradients = false});
    const auto network = make_language_network(parameters, files);
    parameters.load(files.weights);
    HeadSettings head;
    for (const HeadSetting& setting : head_settings())
      if (setting.use == SettingUse::written || setting.use == SettingUse::decoding)
        if (const Json* const value = files.find(setting.name))
          set_from_json(head, setting, *value);
    auto metadata = ModelDescription{.network = network->metadata(), .head = head}.metadata();
    metadata[kVersionKey] = kVersion;
    metadata[kWordsKey] = json_text(Json{{"vocab", words.vocabulary.word_checksum()}});
    for (const char* token : {kBeginToken, kEndToken})  // rows do not show them if two are equal
      if (const Json* const id = files.find(token)) metadata[token] = json_text(*id);
    write_safetensors(directory / kWeightsFile, parameters.state(), metadata);
  });
  write_text(directory / kDictionaryFile, words.vocabulary.dict_text());
  if (words.tokenizer) {
    const auto [name, bytes] = words.tokenizer->file("");
    write_text(directory / name, bytes);
  }
  files.say_assumed();
}

}  // namespace nine
