// BLEU and chrF of a translated file, for `mt_translate --score`. The lines are those of
// sacreBLEU's --format text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/cli/options.h"
#include "data/measures/bleu.h"

namespace nine::app {

/// The options of scoring, with the names of sacreBLEU's options.
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

/// Checks the numbers of lines. Error: the file `references` and the input `name` have different
/// numbers of lines.
void require_references(const std::string& references, size_t expected, const std::string& name,
                        size_t lines);
/// Prints warnings on standard error: the texts `name` and `references` are one file, or only one
/// of them has subwords.
void warn_of_references(const std::string& name, std::span<const std::string> translated,
                        const std::string& references, std::span<const std::string> expected);
/// Scores lines against the same number of references. Returns a line of BLEU and a line of chrF,
/// each with its line feed.
std::string score_lines(std::span<const std::string> translated,
                        std::span<const std::string> references,
                        const TranslationScoreFlags& flags);
/// Does the same for the lines of a file ("-": standard input).
std::string score_translation(const std::string& hypotheses, const std::string& references,
                              const TranslationScoreFlags& flags);

}  // namespace nine::app
