// Reads the choices of a Transformer's layers (nn/transformer_style.h) from a model's files.
#pragma once

#include <string>

#include "nn/models/read_model.h"
#include "nn/transformer_style.h"

namespace nine {

/// Returns the choices that the files say and the tensors of `layer` ("transformer.layers.0") show;
/// others are `usual`. Does not read `positions`. Errors name config.json: a key contradicts the
/// tensors, or has no such value; a needed key is missing.
TransformerStyle read_style(ModelFiles& files, const std::string& layer, int64_t heads,
                            const TransformerStyle& usual);

}  // namespace nine
