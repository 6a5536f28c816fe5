// Where a trained model is and which head it has: what the loaders of both kinds of model share.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "kernels/head.h"

namespace nine::app {

/// Where a trained model's files are: a verified checkpoint's directory (see open_checkpoint); one without state.json, such as
/// PyTorch writes, is taken as it is. Error: no checkpoint, or one without `dictionary` that is of the other kind of model.
std::filesystem::path model_directory(const std::string& path, const char* dictionary = nullptr);

/// The directory's config.json; an empty object where there is none. Error: it is no JSON object.
nlohmann::json model_config(const std::filesystem::path& directory);

/// The head that such a config.json names, lin where it names none.
HeadSpec head_of(const nlohmann::json& config);

}  // namespace nine::app
