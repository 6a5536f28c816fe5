// lm_score --top: the words that a model expected at each position of a text.
#pragma once

#include <ostream>

#include "apps/lm_score/encoded_lines.h"
#include "core/communicator.h"
#include "nn/models/language_model.h"

namespace nine::app {

/// Writes a part of a text. The first part begins with a header. Each word and each end of sentence
/// has a line of tab-separated columns: `line` (from 1, in the whole text), `position` (from 1),
/// `word` as typed (an unknown word as "word (<unk>)", scored as <unk>) or, of a raw text, the
/// token as the dictionary spells it, its `probability` and `rank` (1 = the likeliest). The columns
/// `word.1`, `p.1`, `word.2`, ... follow: the `count` likeliest words (at most the vocabulary), the
/// likeliest first. Each sentence starts from a state of zeros. Processes share the batches; each
/// process writes the whole output.
void write_top_words(const LanguageModel& model, const EncodedLines& input, int64_t count,
                     int64_t batch_tokens, std::ostream& out, Communicator& communicator);

}  // namespace nine::app
