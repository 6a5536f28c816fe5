// lm_score --top: what a model expected at each position of a text.
#pragma once

#include <ostream>

#include "apps/lm_score/encoded_lines.h"
#include "core/communicator.h"
#include "nn/models/language_model.h"

namespace nine::app {

/// Writes for a part of a text a header, unless lines came before, and, for each word and end of
/// sentence, a line of tab-separated columns: `line` (from 1, in the whole text) and `position`
/// (from 1), `word` as typed (one outside the vocabulary: "word (<unk>)", scored as <unk>), its
/// `probability` and `rank` (1 = the likeliest), then `word.1`, `p.1`, `word.2`, ...: the `count`
/// likeliest words (at most the vocabulary), the likeliest first. Each sentence starts from a state
/// of zeros. Processes share batches out; each writes everything.
void write_top_words(const LanguageModel& model, const EncodedLines& input, int64_t count,
                     int64_t batch_tokens, std::ostream& out, Communicator& communicator);

}  // namespace nine::app
