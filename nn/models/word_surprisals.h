// The surprisal of each word of a raw text under a model whose tokens are parts of words.
//
// ASCII white space separates words. The surprisal of a word includes the white space before the
// word. Most tokenizers begin a token with the space before a word, so the next token shows that a
// word has ended. The surprisal counts the end of the word, and leaves out the end of the word
// before it (Pimentel & Meister, "How to Compute the Probability of a Word", EMNLP 2024; Oh &
// Schuler, "Leading Whitespaces of Language Models' Subword Vocabulary Pose a Confound for
// Calculating Word Probabilities", EMNLP 2024):
//
//   surprisal of word i = log2 W(i - 1) - log2 W(i),   W(0) = 1
//   W(i) = p(the text up to the end of word i, and then white space or the end of the text)
//
// W(i) adds the probabilities of two kinds of token sequences. The first kind: the tokens that the
// tokenizer makes of the text up to the end of word i, and then a token that begins with white
// space or ends a text. The second kind: the tokens of the text up to a place before that end, and
// then a token that holds the rest of the word and white space, such as ".\n".
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "nn/models/language_model.h"

namespace nine {

/// A word of a line: the bytes begin ... end - 1 of the line, without white space, and the
/// surprisal in bits.
struct WordSurprisal {
  int64_t begin = 0, end = 0;
  double bits = 0;
};

/// Returns the words of each line. Each line is a text that starts from a state of zeros; computes
/// at most `batch_tokens` positions at once. Errors: a model of words; a line that the tokenizer
/// does not give back byte for byte, because it normalises, loses white space or lacks a
/// token; a tokenizer without a token with white space, which would show where a word ends;
/// batch_tokens < 1.
std::vector<std::vector<WordSurprisal>> word_surprisals(
    const LanguageModel& model, std::span<const std::string> lines,
    int64_t batch_tokens = ScoringOptions{}.batch_tokens);

}  // namespace nine
