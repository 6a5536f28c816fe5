// lm_score without one of its other tasks: log-probabilities of a text.
#pragma once

#include "apps/cli/text_io.h"
#include "apps/lm_score/encoded_lines.h"
#include "apps/lm_score/score_options.h"
#include "core/communicator.h"
#include "nn/models/language_model.h"

namespace nine::app {

/// Writes a line for each line of `input`: its log-probability (natural) or, with --tokens, that of
/// each word and of </s>, and on standard error the perplexity. Processes share the text out; each
/// writes everything.
void write_scores(const ScoreOptions& o, const LanguageModel& model, EncodedLines& input,
                  TextOutput& out, Communicator& communicator);

}  // namespace nine::app
