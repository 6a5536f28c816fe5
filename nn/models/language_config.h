// Which network a language model has: how checkpoints say it, and how it is made from one.
#pragma once

#include <memory>

#include "core/enum_names.h"
#include "core/json.h"
#include "nn/models/lstm_language_model.h"
#include "nn/models/transformer_language_model.h"

namespace nine {

/// The networks of language models.
enum class LanguageArch : uint8_t { lstm, transformer };
template <>
inline constexpr EnumNames<LanguageArch, 2> kEnumNames<LanguageArch>{
    "architecture", {{{LanguageArch::lstm, "lstm"}, {LanguageArch::transformer, "transformer"}}}};

/// The network that a model's tensors are of.
LanguageArch arch_of(const Safetensors& weights);

/// The network that `config`, the contents of config.json or metadata in its place, and the tensors
/// beside it describe, for evaluation: dropout is 0. Sizes are the tensors'; of a Transformer the
/// number of heads, the activation and sinusoidal positions' window are the configuration's.
/// Errors name `file`: what is needed is missing or of the wrong type; tensors of unexpected
/// shapes.
std::unique_ptr<LanguageNetwork> make_language_network(ParameterSet& set, const Json& config,
                                                       const Safetensors& weights,
                                                       const std::string& file);

}  // namespace nine
