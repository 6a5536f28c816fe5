// Where a trained model is and which head it has: what the loaders of both kinds of model share.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "apps/cli/text_io.h"
#include "kernels/head.h"

namespace nine::app {

/// Where a trained model's files are: a verified checkpoint's directory (see open_checkpoint); one
/// without state.json, such as PyTorch writes, is taken as it is. Error: no checkpoint, or one
/// without `dictionary` that is of the other kind of model.
std::filesystem::path model_directory(const std::string& path, const char* dictionary = nullptr);

/// The directory's config.json; where there is none, the head that model.safetensors'
/// `__metadata__` names, if it names one. Error: it is no JSON object.
nlohmann::json model_config(const std::filesystem::path& directory,
                            const std::map<std::string, std::string>& metadata = {});

/// Adds the files of a run, or of a model, and of a run's best checkpoint to check_outputs()'s
/// inputs: what reads them must not write over them.
void add_model_files(std::vector<NamedFile>& inputs, const char* flag, const std::string& path);

/// The head that such a config.json names, lin where it names none.
HeadSpec head_of(const nlohmann::json& config);

}  // namespace nine::app
