// A Transformer language model in the form that the files of other programs have: GPT-2's or
// Llama's network, scores that are inner products, no output bias, and a tokenizer that has a token
// for each row.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/enum_names.h"
#include "core/tensor.h"
#include "nn/models/read_model.h"
#include "nn/models/transformer_language_model.h"

namespace nine {

/// The networks that other programs know by name.
enum class PlainNetwork : uint8_t {
  gpt2,   ///< TransformerStyle::gpt2() with any activation that is not gated
  llama,  ///< TransformerStyle::llama()
  qwen3   ///< Llama's with norms of queries and keys
};
template <>
inline constexpr EnumNames<PlainNetwork, 3> kEnumNames<PlainNetwork>{
    "network",
    {{{PlainNetwork::gpt2, "gpt2"},
      {PlainNetwork::llama, "llama"},
      {PlainNetwork::qwen3, "qwen3"}}}};

/// The model. A text begins with the token `begin`; predicting the token `end` ends the text.
struct PlainTransformer {
  PlainNetwork network = PlainNetwork::gpt2;
  /// Sizes, style and window. The embedding has no factor. `tie_embeddings` is true if there is no
  /// head.weight.
  TransformerLanguageModelConfig config;
  /// float32 tensors by Nine's names. Row t of embedding.weight and head.weight belongs to the
  /// token t. There is no head.bias.
  std::map<std::string, Tensor> tensors;
  int64_t begin = 0, end = 0;
  /// The text of a tokenizer.json, whose special tokens include both. It puts `begin` before a
  /// text.
  std::string tokenizer;
};

/// Brings a language model (read_model) to this form. Folds factors
/// of the scores and of the embeddings into the tables, which then are two. The rows of the tokens
/// keep their order. The row of </s> takes the place of the only token that the model excludes, as
/// in a model that was read from transformers. Otherwise </s> and, unless it is excluded, <unk>
/// become new tokens behind those of the tokenizer. A model of words gets a tokenizer that cuts at
/// spaces and gives the ids of the dictionary. Errors: those of LanguageModel::load(); the network,
/// the head or the words cannot be brought to this form, with the reason and what would do.
PlainTransformer plain_transformer(ModelFiles files);

}  // namespace nine
