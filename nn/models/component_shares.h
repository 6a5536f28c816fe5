// Computes the share of each component of a mixture at each token of a text.
#pragma once

#include <functional>
#include <vector>

#include "data/corpus.h"
#include "nn/models/language_model.h"
#include "nn/models/score_text.h"

namespace nine {

/// One token's weights of the components, K numbers each.
struct ComponentShares {
  std::vector<double> prior;  ///< the mixture's weights before the token
  std::vector<double> share;  ///< each component's share in the token's probability; they sum to 1
};

/// Calls callback(sentence, token, shares) for every token of the range's sentences, in order, with
/// </s> last in each sentence. Every sentence starts from a state of zeros; `batch_tokens` as in
/// encode_sentences. Error: the head is not a mixture.
void component_shares(const LanguageModel& model, const Corpus& text, int64_t batch_tokens,
                      const std::function<void(int64_t, int64_t, const ComponentShares&)>& callback,
                      SentenceRange range = {});

}  // namespace nine
