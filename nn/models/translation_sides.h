// The languages of a translation model's directory: dictionaries and tokenizers.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "nn/models/read_model.h"
#include "nn/models/transformer.h"
#include "nn/models/translation_text.h"

namespace nine {

/// Both languages. A model with a shared vocabulary has the same dictionary on both sides.
struct TranslationSides {
  TranslationSide source, target;
};

/// Opens the dictionaries and tokenizers in a model's directory (model_directory). Errors: a
/// dictionary that cannot be read; a tokenizer of other tokens, or for one language only.
TranslationSides read_sides(const std::filesystem::path& directory);

/// Returns transformer_config(files). Further errors: the dictionaries do not have the model's
/// words; the model reads raw text and its tokenizer is missing.
TransformerConfig transformer_config(ModelFiles& files, const TranslationSides& sides);

/// Returns names and bytes of the tokenizers' files in a model's directory: none of a model of
/// words, one if both languages share it, else two.
std::vector<std::pair<std::string, std::string>> tokenizer_files(const TranslationSides& sides);

}  // namespace nine
