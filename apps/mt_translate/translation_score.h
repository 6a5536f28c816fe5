// BLEU and chrF of a translated file: what `mt_translate --score` prints, the same lines as
// sacreBLEU's --format text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/cli/options.h"
#include "data/measures/bleu.h"

namespace nine::app {

/// The options of scoring, named as sacreBLEU's.
struct TranslationScoreFlags {
  BleuTokenizer tokenize = BleuTokenizer::mteval_13a;
  BleuSmoothing smooth_method = BleuSmoothing::exp;
  bool lowercase = false;
  double smooth_value = -1;
  int chrf_word_order = 0, width = 1;

  /// Declares every flag, bound to these fields.
  void declare(Options& options);
  /// Checks flags against each other. Throws UsageError.
  void check() const;
};

/// Error: the file `references` has not as many lines as the input `name`.
void require_references(const std::string& references, size_t expected, const std::string& name,
                        size_t lines);
/// Scores lines against as many others: a line of BLEU and a line of chrF, each with its line feed.
std::string score_lines(std::span<const std::string> translated,
                        std::span<const std::string> references,
                        const TranslationScoreFlags& flags);
/// The same of the lines of one file ("-": standard input).
std::string score_translation(const std::string& hypotheses, const std::string& references,
                              const TranslationScoreFlags& flags);

}  // namespace nine::app
