// The description of a trained model besides its tensors: the keys of its network and of its head.
// The keys of the network are a table here; the keys of the head are those of head_settings(). Code
// that writes, reads or compares keys of metadata or config.json loops over both tables.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "core/json.h"
#include "kernels/settings/head_config.h"

namespace nine {

struct TransformerLanguageModelConfig;

/// A key of the network of a language model, or of a translation model that has this key.
struct NetworkKey {
  const char* name;
  std::string (*text)(const TransformerLanguageModelConfig& c);  ///< returns its value; "": the
                                                                 ///< usual value
  /// The value if metadata that Nine wrote do not have the key; null: no value.
  const char* usual = nullptr;
  /// True if a network with another value computes other numbers from the same tensors.
  bool computes = true;
};
std::span<const NetworkKey> network_keys();

/// The description of a model to write.
struct ModelDescription {
  /// The keys of its network: LanguageNetwork::metadata() or Transformer::metadata().
  std::map<std::string, std::string> network;
  HeadSettings head;

  /// Returns `__metadata__` of model.safetensors, without the version: the keys of network and
  /// head, so that the file can be opened without config.json.
  std::map<std::string, std::string> metadata() const;
};

/// Adds the keys of the weights' `metadata` to a model's configuration that lacks them. Errors:
/// config.json in `directory` contradicts the metadata, or contradicts the value of a key that
/// Nine's metadata leave out; a text is not a value of its key.
void add_metadata(Json& config, const std::map<std::string, std::string>& metadata,
                  const std::filesystem::path& directory);

/// Returns the head that a configuration names; lin if it names no head. Leaves out settings that
/// tensors show and, unless `training`, settings for training only. Error: a setting is wrong, or
/// of the wrong type.
HeadConfig head_of(const Json& config, bool training = false);

}  // namespace nine
