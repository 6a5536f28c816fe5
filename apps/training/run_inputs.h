// What a run reads, as it is known again when the run goes on.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/json.h"

namespace nine::app {

/// Holds a checksum of each input of a run by the key of its option ("train", "src_dict"). The
/// checksum is over what the program reads: the lines of a text, or the words of a vocabulary in
/// their order. A run without a recorded `identity` is compared by `former`, and by the paths of
/// the inputs that `former` lacks.
struct RunInputs {
  /// CRC-32C of each input that there is, `identity` under config.json's `resolved`. The
  /// vocabulary is there whether it was given or built.
  Json identity = Json::object();

  /// A checksum under `resolved` of versions up to 0.2.0 and what it comes to now.
  struct Former {
    std::string key;
    uint32_t checksum;
    std::vector<std::string> inputs;  ///< that it is over
  };
  std::vector<Former> former;

  /// Adds files as one input, by their bytes. Nothing is added without files.
  void add_files(const char* key, const std::vector<std::string>& paths);
  /// Adds the model that an option names as one input: its weights, dictionaries and tokenizers.
  /// Adds its config.json, which says what the tensors mean, as another input under config_key().
  /// Adds nothing if the name is empty or no model is there, because a resumed run does not need
  /// the model.
  void add_model(const char* key, const std::string& directory);
};

/// Returns the key under which RunInputs::identity has the config.json of the model of an option.
inline std::string config_key(const std::string& model) { return model + "_config"; }

/// The key of RunInputs::identity under `resolved`.
inline constexpr const char* kIdentity = "identity";

}  // namespace nine::app
