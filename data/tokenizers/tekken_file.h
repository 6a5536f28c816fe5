// Mistral's tekken.json: tiktoken's ranks behind special tokens, and the pattern that splits.
#pragma once

#include <memory>

#include "core/json.h"

namespace nine {

class Tokenizer;

/// True if a JSON object is a tekken.json.
bool is_tekken(const Json& json);
/// Returns its tokenizer. Errors: a member that is missing; ranks that are not 0, 1, ...; two
/// special tokens of one rank.
std::unique_ptr<Tokenizer> tekken_tokenizer(const Json& json);

}  // namespace nine
