// A translation model of another program, in Nine's names.
#pragma once

#include <filesystem>

#include "nn/models/read_model.h"
#include "nn/models/translation_sides.h"

namespace nine {

/// The model. `files` has the tensors, float32, with `positions`, and one source of keys that says
/// all that tensors do not show.
struct ForeignTranslation {
  ModelFiles files;
  TranslationSides sides;
};

/// The most positions of a model whose sinusoids have no table in its files.
inline constexpr int64_t kSinusoids = 1024;

/// Returns sinusoids as tensor2tensor, fairseq and Marian have them, (count, width) float32: sin(t
/// f_i) in column i and cos(t f_i) in column width/2 + i, with f_i = 10000^(-i / (width/2 - 1)) and
/// t = first, first + 1, ... Error: the width is odd or below 4.
Tensor spread_sinusoids(int64_t count, int64_t width, int64_t first);

/// Writes the model into a directory, which exists, as mt_translate opens it: model.safetensors,
/// config.json, the dictionaries and the tokenizers. Errors: a tensor is missing, left over or of
/// another shape; a file cannot be written.
void write_model(ForeignTranslation model, const std::filesystem::path& directory);

}  // namespace nine
