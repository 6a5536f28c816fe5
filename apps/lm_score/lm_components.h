// lm_score --components: what each component of a mixture does at each token.
#pragma once

#include <ostream>

#include "core/communicator.h"
#include "data/corpus.h"
#include "nn/models/language_model.h"

namespace nine::app {

/// A line for each sentence of `text`, with a field for each token, </s> last: the components'
/// prior before
/// ';' and their shares in the token's probability after it, K numbers each, separated by commas.
/// Processes share batches out; each writes everything. An Error when the head is no mixture.
void write_components(const LanguageModel& model, const Corpus& text, int64_t batch_tokens,
                      std::ostream& out, Communicator& communicator);

}  // namespace nine::app
