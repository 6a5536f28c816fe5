// The check that a vocabulary fits a text: the share of the text's words that the vocabulary lacks.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/vocabulary.h"

namespace nine {

/// The usual limit of the share of unknown tokens: usual texts have a smaller share.
inline constexpr double kMaxUnknown = 0.5;

/// Numbers of tokens in a text. The end of each sentence is a token.
struct TokenCounts {
  int64_t tokens = 0;
  int64_t unknown = 0;  ///< tokens that are <unk>
};
/// Counts the tokens of lines.
TokenCounts count_tokens(std::span<const std::string> lines, const Vocabulary& vocabulary);

/// Error, with the names of the text and of the vocabulary: more than the share `most` of the
/// tokens is unknown. UsageError: `most` is not from 0 to 1.
void require_known(const TokenCounts& counts, double most, const std::string& text,
                   const std::string& vocabulary);

}  // namespace nine
