// chrF and chrF++ of a translation against one reference a line (Popovic, WMT 2015 and 2017), equal
// to sacreBLEU's scores.
#pragma once

#include <span>
#include <string>

namespace nine {

/// Settings of chrF; the defaults are sacreBLEU's.
struct ChrfOptions {
  int character_order = 6;
  int word_order = 0;  ///< 2: chrF++
  int beta = 2;        ///< recall counts beta times as much as precision
  bool lowercase = false;
};

/// chrF of a text.
struct ChrfScore {
  double score = 0;       ///< 0 to 100
  std::string name;       ///< "chrF2", "chrF2++"
  std::string signature;  ///< "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0"

  /// Returns "chrF2|nrefs:1|... = 61.3", as sacrebleu --format text --width does.
  std::string text(int decimals = 1) const;
};

/// Scores lines of valid UTF-8. Errors: different numbers of lines; no lines; an order < 0; both
/// orders 0; beta < 1.
ChrfScore corpus_chrf(std::span<const std::string> hypotheses,
                      std::span<const std::string> references, const ChrfOptions& options = {});

}  // namespace nine
