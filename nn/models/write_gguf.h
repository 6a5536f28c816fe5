// Writes a language model as a GGUF file, which llama.cpp reads
// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md): a header, keys with the sizes and
// the tokenizer, a list of the tensors, and their data.
#pragma once

#include <filesystem>

#include "nn/models/plain_transformer.h"
#include "nn/models/weight_type.h"

namespace nine {

/// Writes the model, of the architectures gpt2, llama and qwen3 of llama.cpp. Vectors and the table
/// of positions are float32, matrices are of the type; a row that q8_0 cannot cut into groups of 32
/// numbers makes its matrix float16. Errors: llama.cpp computes another activation; it does not
/// have the tokenizer; a finite number that float16 does not hold; the file cannot be written.
void write_gguf(const PlainTransformer& model, const std::filesystem::path& file, WeightType type);

}  // namespace nine
