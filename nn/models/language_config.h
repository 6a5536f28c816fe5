// The network of a language model: reads which network a checkpoint holds, and creates it.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "core/enum_names.h"
#include "nn/models/lstm_language_model.h"
#include "nn/models/read_model.h"
#include "nn/models/transformer_language_model.h"

namespace nine {

/// The kinds of networks of language models.
enum class LanguageArch : uint8_t { lstm, transformer };
template <>
inline constexpr EnumNames<LanguageArch, 2> kEnumNames<LanguageArch>{
    "architecture", {{{LanguageArch::lstm, "lstm"}, {LanguageArch::transformer, "transformer"}}}};

/// Returns the kind of network to which a model's tensors belong.
LanguageArch arch_of(const Safetensors& weights);

/// The settings of a language model's network.
using LanguageConfig = std::variant<LstmLanguageModelConfig, TransformerLanguageModelConfig>;

/// Returns the settings of the network that make_language_network() makes. Errors: the same.
LanguageConfig language_config(ModelFiles& files);

/// Returns the network that the tensors and the files' keys describe, for evaluation: dropout is 0.
/// Tensors determine the sizes. For a Transformer, keys give the number of heads, the choices of
/// its layers that no tensor shows, and the window of positions without a table; missing values may
/// be assumed (files.assumed). Errors name config.json: a needed key is missing or of the wrong
/// type; tensors have unexpected shapes.
std::unique_ptr<LanguageNetwork> make_language_network(ParameterSet& set, ModelFiles& files);

}  // namespace nine
