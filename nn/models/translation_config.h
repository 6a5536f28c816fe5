// The keys of config.json that describe a translation model: written by mt_train, read when one is
// opened.
#pragma once

#include <string>

#include "core/json.h"
#include "nn/models/transformer.h"

namespace nine {

/// The keys that CTranslate2 and a replay of the training in PyTorch (docs/formats.md) read:
/// `task`, `dtype`, sizes, norm order, smoothing, ties. The head is not among them.
Json translation_config(const Transformer& model);

/// The model that `config`, the contents of `file`, and the tensors beside it describe, for
/// evaluation: dropout is 0. Errors name the file: a key that is needed is missing or of the wrong
/// type.
TransformerConfig transformer_config(const Json& config, const Safetensors& weights,
                                     const std::string& file);

}  // namespace nine
