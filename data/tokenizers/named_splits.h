// The pre-tokeniser and the decoder of byte-level tokenizers, by the name of their split.
#pragma once

#include "data/tokenizers/pipeline.h"
#include "data/tokenizers/split_pattern.h"

namespace nine {

/// Sets the pre-tokeniser, the post-processor and the decoder of `parts`.
void set_split(TokenizerParts& parts, Split split);

}  // namespace nine
