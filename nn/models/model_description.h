// What a trained model's files say of it beside its tensors: the keys of its network and of its
// head. The network's are a table here, the head's are those of head_settings(). Code that writes a
// key of the metadata loops over the two; nn/models/read_model.h reads and compares keys.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "kernels/settings/head_config.h"

namespace nine {

struct TransformerLanguageModelConfig;

/// A key of the network of a language model, or of a translation model that has this key.
struct NetworkKey {
  const char* name = nullptr;
  /// Returns the value; "": the usual value.
  std::function<std::string(const TransformerLanguageModelConfig& c)> text;
  /// The value if metadata that Nine wrote do not have the key; "": no value.
  std::string usual = {};
  /// True if a network with another value computes other numbers from the same tensors.
  bool computes = true;
};
/// Returns the keys: those of style_settings() and a few more. The first is `arch`.
const std::vector<NetworkKey>& network_keys();

/// The description of a model to write.
struct ModelDescription {
  /// The keys of its network: LanguageNetwork::metadata() or Transformer::metadata().
  std::map<std::string, std::string> network;
  HeadSettings head;

  /// Returns `__metadata__` of model.safetensors, without the version: the keys of network and
  /// head, so that the file can be opened without config.json.
  std::map<std::string, std::string> metadata() const;
};

/// Returns weights' `metadata` as JSON: the texts true and false (Python's True and False, too) are
/// truth values.
Json keys_of(const std::map<std::string, std::string>& metadata);

/// Returns the values that keys have because Nine left them out of `metadata`: Nine leaves out the
/// usual value. Returns an empty object if Nine did not write the metadata.
Json keys_left_out(const std::map<std::string, std::string>& metadata);

/// Sets a setting of the head from a value of JSON. UsageError: the value is of another type.
void set_from_json(HeadSettings& settings, const HeadSetting& setting, const Json& value);

/// Returns the head that the keys of a JSON object describe, lin if the key `head` is not there.
/// Ignores what tensors show, and what counts in training alone unless `training`. UsageError: a
/// setting is wrong, or of the wrong type.
HeadSettings head_settings_of(const Json& keys, bool training = false);

}  // namespace nine
