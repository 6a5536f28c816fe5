// Writes a language model as a folder of Hugging Face's transformers.
#pragma once

#include <filesystem>

#include "nn/models/plain_transformer.h"
#include "nn/models/weight_type.h"

namespace nine {

/// Writes config.json, model.safetensors, tokenizer.json and tokenizer_config.json into a
/// directory, which exists: GPT2LMHeadModel, LlamaForCausalLM or Qwen3ForCausalLM. Errors: a file
/// cannot be written; a number that the type does not hold; the type is q8_0.
void write_hugging_face(const PlainTransformer& model, const std::filesystem::path& directory,
                        WeightType type);

}  // namespace nine
