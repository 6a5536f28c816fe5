// Writes translations, their attention and their log-probabilities for mt_translate.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "nn/models/translation_text.h"
#include "nn/models/translator.h"

namespace nine::app {

/// The settings of writing translations.
struct TranslationFormat {
  bool n_best = false;  ///< `i ||| translation ||| score`
  bool all = false;     ///< each hypothesis has a line; false: the best
  int64_t first = 0;    ///< number of the first line
};
/// Writes the best or all hypotheses of each translation as lines of words, or with `n_best` each
/// hypothesis as a line `i ||| words ||| score`, where i counts from `first`; ||| within a word is
/// &#124;&#124;&#124; there.
void write_translations(std::span<const Translation> found, const Translator& translator,
                        const TranslationFormat& format, std::ostream& out);
/// Writes a JSON object a line, of each best or each hypothesis: `line` (counted from `first`),
/// `source` (with </s>), `target`, `attention` (target x source).
void write_attention(std::span<const Translation> found, std::span<const BeamSearch::Ids> sources,
                     const Translator& translator, const TranslationFormat& format,
                     std::ostream& out);
/// Writes a line `source ||| translation` of each best or each hypothesis: their tokens as the
/// dictionaries spell them; ||| within a token as in write_translations().
void write_token_pairs(std::span<const Translation> found, std::span<const BeamSearch::Ids> sources,
                       const Translator& translator, const TranslationFormat& format,
                       std::ostream& out);
/// Writes a line of each best or each hypothesis: pairs i-j for its words j, where i is the source
/// word with the largest attention weight; ties: the first.
void write_alignment(std::span<const Translation> found, const TranslationFormat& format,
                     std::ostream& out);
/// Writes a line of each best or each hypothesis: log p of its words and of </s>.
void write_word_scores(std::span<const Translation> found, const TranslationFormat& format,
                       std::ostream& out);
/// Writes a line for each pair: the sum of its tokens' log-probabilities, or with `tokens` each of
/// them.
void write_log_probs(std::span<const std::vector<double>> scores, bool tokens, std::ostream& out);

}  // namespace nine::app
