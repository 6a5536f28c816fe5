// The task of lm_score if no other task is given: the log-probabilities of a text.
#pragma once

#include "apps/cli/text_io.h"
#include "apps/lm_score/encoded_lines.h"
#include "apps/lm_score/score_options.h"
#include "core/communicator.h"
#include "nn/models/language_model.h"

namespace nine::app {

/// Writes a line for each line of `input`: its natural log-probability or, with --tokens, that of
/// each word and of </s>. Prints the perplexity to standard error. Processes share the text; each
/// process writes the whole output.
void write_scores(const ScoreOptions& o, const LanguageModel& model, EncodedLines& input,
                  TextOutput& out, Communicator& communicator);

}  // namespace nine::app
