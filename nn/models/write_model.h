// Writes a language model as Nine's own files.
#pragma once

#include <filesystem>

#include "nn/models/read_model.h"

namespace nine {

/// Writes a language model (read_model) into a directory, which exists: model.safetensors, whose
/// metadata describe network and head, dict.txt, and the tokenizer of a model of raw text. Errors:
/// those of LanguageModel::load(); a file cannot be written.
void write_model(ModelFiles files, const std::filesystem::path& directory);

}  // namespace nine
