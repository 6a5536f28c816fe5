// lm_score --words: the surprisal of each word of a raw text.
#pragma once

#include <ostream>

#include "apps/lm_score/encoded_lines.h"
#include "core/communicator.h"
#include "nn/models/language_model.h"

namespace nine::app {

/// The words and bits that were written.
struct WrittenWords {
  int64_t words = 0;
  double bits = 0;
};

/// Writes a part of a text as a table with tabs; the first part begins with a header. Columns:
/// `line` and `word` (from 1), `begin` and `end` (characters of the line, from 0; `end` is behind
/// the word), `text`, `bits`. Processes share the lines; each process writes the whole output.
WrittenWords write_words(const LanguageModel& model, const EncodedLines& input,
                         int64_t batch_tokens, std::ostream& out, Communicator& communicator);

}  // namespace nine::app
