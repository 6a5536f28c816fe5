// Writes translations, their attention and their log-probabilities for mt_translate.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "nn/models/translator.h"

namespace nine::app {

/// The settings of writing translations.
struct TranslationFormat {
  bool n_best = false;  ///< true: lines are `i ||| translation ||| score`
  int64_t first = 0;    ///< number of the first line
};
/// Writes the best hypothesis of each translation as a line of words. With `n_best`, writes each
/// hypothesis as a line `i ||| words ||| score`, where i counts from `first`; a ||| inside a word
/// becomes &#124;&#124;&#124;.
void write_translations(std::span<const Translation> found, const Translator& translator,
                        const TranslationFormat& format, std::ostream& out);
/// Writes, for each best hypothesis, a line with a JSON object: `line` (counted from `first`),
/// `source` (with </s>), `target`, `attention` (target x source).
void write_attention(std::span<const Translation> found, std::span<const BeamSearch::Ids> sources,
                     const Translator& translator, int64_t first, std::ostream& out);
/// Writes a line for each pair: the sum of its tokens' log-probabilities or, with `tokens`, each of
/// these log-probabilities.
void write_log_probs(std::span<const std::vector<double>> scores, bool tokens, std::ostream& out);

}  // namespace nine::app
