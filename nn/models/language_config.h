// Which network a language model has: how checkpoints say it, and how it is made from one.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/enum_names.h"
#include "nn/models/lstm_language_model.h"
#include "nn/models/read_model.h"
#include "nn/models/transformer_language_model.h"

namespace nine {

/// The networks of language models.
enum class LanguageArch : uint8_t { lstm, transformer };
template <>
inline constexpr EnumNames<LanguageArch, 2> kEnumNames<LanguageArch>{
    "architecture", {{{LanguageArch::lstm, "lstm"}, {LanguageArch::transformer, "transformer"}}}};

/// The network that a model's tensors are of.
LanguageArch arch_of(const Safetensors& weights);

/// The network that the tensors and what is said of them describe, for evaluation: dropout is 0.
/// Sizes are the tensors'; of a Transformer the number of heads, the activation, the norms' order
/// and sinusoidal positions' window are said, or assumed (files.assumed). Errors name config.json:
/// what is needed is missing or of the wrong type; tensors of unexpected shapes.
std::unique_ptr<LanguageNetwork> make_language_network(ParameterSet& set, ModelFiles& files);

/// TransformerLanguageModelConfig::settings() of that network; empty of an LSTM. Errors: the same.
std::map<std::string, std::string> language_settings(ModelFiles& files);

}  // namespace nine
