// Computes a language model's expectation at each position of a text: the likeliest words, and the
// rank of the actual word.
#pragma once

#include <cstdint>
#include <functional>

#include "data/corpus.h"
#include "nn/models/language_model.h"
#include "nn/models/score_text.h"

namespace nine {

/// Calls callback(sentence, token, expectation) for every token of the range's sentences, in order,
/// with </s> last in each sentence. An expectation has the `count` likeliest words (at most the
/// vocabulary's size); words of equal probability are ranked by id. Every sentence starts from a
/// state of zeros; `batch_tokens` as in encode_sentences. Error: count < 0.
void word_expectations(
    const LanguageModel& model, const Corpus& text, int64_t count, int64_t batch_tokens,
    const std::function<void(int64_t, int64_t, const WordExpectation&)>& callback,
    SentenceRange range = {});

}  // namespace nine
