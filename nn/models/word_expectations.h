// What a language model expected at each position of a text: the likeliest words, and the rank of
// the actual word.
#pragma once

#include <functional>
#include <vector>

#include "data/corpus.h"
#include "nn/models/language_model.h"

namespace nine {

/// The model's distribution before one token.
struct WordExpectation {
  double log_p = 0;               ///< of the text's own token
  int64_t rank = 0;               ///< of that token, 1: the likeliest
  std::vector<int32_t> top;       ///< the likeliest words, the likeliest first
  std::vector<double> top_log_p;  ///< their log p
};

/// Calls callback(sentence, token, expectation) for every token of the text in its order, </s> last
/// in each sentence, with the `count` likeliest words (at most the vocabulary's size). Words of
/// equal probability are ranked by id. Every sentence starts from a state of zeros; `batch_tokens`
/// as in encode_sentences.
void word_expectations(
    const LanguageModel& model, Tape& tape, const Corpus& text, int64_t count, int64_t batch_tokens,
    const std::function<void(int64_t, int64_t, const WordExpectation&)>& callback);

}  // namespace nine
