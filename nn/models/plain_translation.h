// A translation model in the form that files of other programs have: scores that are inner
// products and a bias for each word.
#pragma once

#include <map>
#include <string>

#include "core/tensor.h"
#include "nn/models/read_model.h"
#include "nn/models/translation_sides.h"

namespace nine {

/// The model.
struct PlainTranslation {
  /// Sizes and style. The embeddings have the factor `embed_scale`. `tie_embeddings` is true if
  /// there is no head.weight.
  TransformerConfig config;
  /// float32 tensors by Nine's names, with `positions` if these are added to the embeddings. A word
  /// whose head.bias is -infinity is excluded.
  std::map<std::string, Tensor> tensors;
  TranslationSides sides;
};

/// Brings a translation model (read_model) to this form. Errors: those of Translator::load(); a
/// head that has no such form (linear_form), with the reason and what would do.
PlainTranslation plain_translation(ModelFiles files);

}  // namespace nine
