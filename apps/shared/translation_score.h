// BLEU and chrF of a translated file: what `mt_translate --score` prints, the same lines as sacreBLEU's --format text.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "apps/shared/options.h"

namespace nine::app {

/// The options of scoring, named as sacreBLEU's.
struct TranslationScoreFlags {
  std::string tokenize = "13a", smooth_method = "exp";
  bool lowercase = false;
  double smooth_value = -1;
  int chrf_word_order = 0, width = 1;

  /// Declares every flag, bound to these fields.
  void declare(Options& options);
  /// What single flags cannot check. UsageError.
  void check() const;
};

/// Scores lines against those of a file: a line of BLEU and a line of chrF, each with its line feed. `name` is what errors call
/// the lines. Errors: LineReader's, a different number of lines.
std::string score_lines(std::span<const std::string> translated, const std::string& name, const std::string& references,
                        const TranslationScoreFlags& flags);
/// The same of the lines of one file ("-": standard input).
std::string score_translation(const std::string& hypotheses, const std::string& references, const TranslationScoreFlags& flags);

}  // namespace nine::app
