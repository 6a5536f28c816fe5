// lm_score --components: the prior and the share of each component of a mixture at each token.
#pragma once

#include <ostream>

#include "apps/lm_score/encoded_lines.h"
#include "core/communicator.h"
#include "nn/models/language_model.h"

namespace nine::app {

/// Writes a line for each sentence of a part of a text, with a field for each token, </s> last. A
/// field has the components' prior, ';', and the components' shares of the token's probability: K
/// numbers each, separated by commas. Processes share the batches; each process writes the whole
/// output. Error: the head is not a mixture.
void write_components(const LanguageModel& model, const EncodedLines& input, int64_t batch_tokens,
                      std::ostream& out, Communicator& communicator);

}  // namespace nine::app
