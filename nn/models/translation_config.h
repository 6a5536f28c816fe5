// The keys of config.json that describe a translation model. mt_train writes them; opening a model
// reads them.
#pragma once

#include <string>

#include "core/json.h"
#include "nn/models/read_model.h"
#include "nn/models/transformer.h"

namespace nine {

/// Returns the keys that CTranslate2 and a replay of the training in PyTorch (docs/formats.md)
/// read: `task`, `dtype`, sizes, norm order, smoothing, ties. It does not return the keys of the
/// head.
Json translation_config(const Transformer& model);

/// Returns the model that the tensors and the files' keys describe, for evaluation: dropout is 0.
/// Tensors determine sizes that no key gives. Renames a table `positions.weight` to kPositionsName.
/// Errors name config.json: a needed key is missing or of the wrong type; a foreign model has no
/// table of positions and does not say that positions are sinusoidal.
TransformerConfig transformer_config(ModelFiles& files);

}  // namespace nine
