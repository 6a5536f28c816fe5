// The log-probabilities of a text under a saved model, sentence by sentence.
#pragma once

#include <functional>
#include <span>

#include "apps/lm_train/lm_data.h"

namespace nine::app {

/// How a text is read: every sentence from a fresh state, at most batch_tokens positions at once,
/// or as validation reads it.
struct ScoringOptions {
  bool carry_state = false;
  int64_t batch_tokens = 4096;
};

/// Calls visit with the nats (-log p) of each sentence's tokens, </s> last, in the text's order.
/// With carried state the tokens at the end that fill no row of columns are NaN.
void score_text(const SavedLanguageModel& model, const Corpus& text, const ScoringOptions& reading,
                const std::function<void(std::span<const double>)>& visit);

}  // namespace nine::app
