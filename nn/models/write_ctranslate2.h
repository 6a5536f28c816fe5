// Writes a translation model as a folder of CTranslate2
// (https://github.com/OpenNMT/CTranslate2, python/ctranslate2/specs/model_spec.py): model.bin,
// version 6 with the TransformerSpec of revision 7, config.json and the vocabularies.
#pragma once

#include <filesystem>

#include "nn/models/plain_translation.h"
#include "nn/models/weight_type.h"

namespace nine {

/// Writes the model into a directory, which exists, with the tokenizers of a model that reads raw
/// text. All tensors get the type. Errors: a choice of the layers that CTranslate2 does not have; a
/// word that is twice in a dictionary; a finite number that the type does not hold; the type is
/// q8_0; a file cannot be written.
void write_ctranslate2(const PlainTranslation& model, const std::filesystem::path& directory,
                       WeightType type);

}  // namespace nine
