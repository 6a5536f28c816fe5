// The pre-tokeniser and the decoder of byte-level tokenizers, by their split.
#pragma once

#include <string>

#include "data/tokenizers/pipeline.h"
#include "data/tokenizers/split_pattern.h"

namespace nine {

/// Set the pre-tokeniser and the decoder of `parts`.
void set_split(TokenizerParts& parts, Split split);
void set_split(TokenizerParts& parts, const std::string& pattern);

}  // namespace nine
