// lm_score without one of its other tasks: log-probabilities of a text.
#pragma once

#include "apps/cli/line_input.h"
#include "apps/cli/text_io.h"
#include "apps/lm_score/score_options.h"
#include "core/communicator.h"

namespace nine::app {

/// Writes a line for each line of `text`: its log-probability (natural) or, with --tokens, that of
/// each word and of </s>, and on standard error the perplexity. Processes share the text out; each
/// writes everything.
void write_scores(const ScoreOptions& o, Device device, LineInput& text, TextOutput& out,
                  Communicator& communicator);

}  // namespace nine::app
