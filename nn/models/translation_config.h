// The keys of config.json that describe a translation model: written by mt_train, read when one is
// opened.
#pragma once

#include <string>

#include "core/json.h"
#include "nn/models/read_model.h"
#include "nn/models/transformer.h"

namespace nine {

/// The keys that CTranslate2 and a replay of the training in PyTorch (docs/formats.md) read:
/// `task`, `dtype`, sizes, norm order, smoothing, ties. The head is not among them.
Json translation_config(const Transformer& model);

/// The model that the tensors and what is said of them describe, for evaluation: dropout is 0.
/// Sizes that nobody says are the tensors'; a table `positions.weight` is called kPositionsName
/// from now on. Errors name config.json: a key that is needed is missing or of the wrong type; a
/// foreign model has neither a table of positions nor says that they are sinusoidal.
TransformerConfig transformer_config(ModelFiles& files);

}  // namespace nine
