// What a run reads, as it is known again when the run goes on.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/json.h"

namespace nine::app {

/// The inputs of a run by the keys of their options ("train", "src_dict"). An input is what the
/// program reads: of a text its lines, of a vocabulary its words in their order. Where a run has
/// not recorded that, it is the checksum of an older version, and where there is none the path.
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
  /// Adds the model in a directory, as an option names it. Nothing is added for an empty name or
  /// where there is no model: a run that goes on needs none. The model's config.json, which says
  /// what the tensors mean, is an input of its own, under config_key().
  void add_model(const char* key, const std::string& directory);
};

/// Returns the key under which RunInputs::identity has the config.json of the model of an option.
inline std::string config_key(const std::string& model) { return model + "_config"; }

/// The key of RunInputs::identity under `resolved`.
inline constexpr const char* kIdentity = "identity";

}  // namespace nine::app
