// Scores sentences that begin alike, such as the hypotheses of n-best lists: computes once what
// several sentences begin with.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "data/corpus.h"
#include "nn/models/language_model.h"

namespace nine {

/// Computes the nats (-log p) of each sentence's tokens, each sentence from a state of zeros. The
/// bits are those of score_text(), because a row of a product does not depend on the rows beside
/// it. A network that carries a state reads each different beginning once: beginnings of one length
/// are columns of one step. score_text() computes other networks, and a text with a sentence longer
/// than options.batch_tokens. Calls `progress`, if set, with the number of computed tokens, and
/// then `callback` with each sentence's nats in the text's order. Returns the number of predictions
/// that were computed: that of the different beginnings, each with its next token. Errors: those of
/// score_text().
int64_t score_shared_beginnings(const LanguageModel& model, const Corpus& text,
                                const ScoringOptions& options,
                                const std::function<void(std::span<const double>)>& callback,
                                const std::function<void(int64_t)>& progress = {});

}  // namespace nine
