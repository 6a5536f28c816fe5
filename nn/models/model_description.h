// What a trained model's files say of it beside its tensors: the keys of its network and of its
// head. The network's are a table here, the head's are those of head_settings(). What writes, reads
// and compares a key of metadata or config.json loops over the two.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "core/json.h"
#include "kernels/settings/head_config.h"

namespace nine {

struct TransformerLanguageModelConfig;

/// A key of a network of language models, or of a translation model that has it.
struct NetworkKey {
  const char* name;
  std::string (*text)(const TransformerLanguageModelConfig& c);  ///< its value; "": the usual one
  /// What Nine's metadata mean where they leave it out; null: nothing.
  const char* usual = nullptr;
  /// Whether a network with another value computes other numbers from the same tensors.
  bool computes = true;
};
std::span<const NetworkKey> network_keys();

/// A model that is written.
struct ModelDescription {
  /// What its network says: LanguageNetwork::metadata() or Transformer::metadata().
  std::map<std::string, std::string> network;
  HeadSettings head;

  /// model.safetensors' `__metadata__` but for the version: both, so that the file opens alone.
  std::map<std::string, std::string> metadata() const;
};

/// The keys that weights' `metadata` have, in a model's configuration that lacks them. Errors:
/// `directory`'s config.json says of a key something else than they do, or than their lack of it
/// means where Nine wrote them; a text that is no value of its key.
void add_metadata(Json& config, const std::map<std::string, std::string>& metadata,
                  const std::filesystem::path& directory);

/// The head that such a configuration names, lin where it names none; without what tensors show or
/// counts in training alone unless `training`. Error: a setting is wrong, or of the wrong type.
HeadConfig head_of(const Json& config, bool training = false);

}  // namespace nine
