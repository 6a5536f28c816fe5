#include "data/measures/chrf.h"

#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/number_format.h"
#include "data/lower_case.h"
#include "data/measures/bleu.h"
#include "data/measures/ngrams.h"
#include "data/unicode.h"

namespace nine {

namespace {

bool is_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}

/// Returns the words of chrF++: a punctuation mark at the end of a word, or otherwise at its start,
/// is a separate word.
Units words_and_marks(std::string_view line) {
  const Units words = word_units(line);
  std::vector<std::string_view> parts;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words.unit(i);
    const size_t cut = word.size() == utf8_length(word[0]) ? 0
                       : is_punctuation(word.back())       ? word.size() - 1
                       : is_punctuation(word[0])           ? 1
                                                           : 0;
    if (cut > 0) parts.push_back(word.substr(0, cut));
    parts.push_back(word.substr(cut));
  }
  return word_units(parts);
}

}  // namespace

ChrfScore corpus_chrf(std::span<const std::string> hypotheses,
                      std::span<const std::string> references, const ChrfOptions& options) {
  require_pairs("corpus_chrf", hypotheses.size(), references.size());
  require(options.character_order >= 0 && options.word_order >= 0 &&
              options.character_order + options.word_order > 0 && options.beta >= 1,
          "[corpus_chrf] character order ", options.character_order, ", word order ",
          options.word_order, ", beta ", options.beta,
          ": both orders must be at least 0, one of them at least 1, and beta at least 1");
  ChrfScore out;
  out.name =
      concat("chrF", options.beta, std::string(static_cast<size_t>(options.word_order), '+'));
  out.signature = concat("nrefs:1|case:", options.lowercase ? "lc" : "mixed",
                         "|eff:yes|nc:", options.character_order, "|nw:", options.word_order,
                         "|space:no|version:", kSacrebleuVersion);

  std::vector<NgramCounts> counts(
      static_cast<size_t>(options.character_order + options.word_order));
  const auto add = [&](size_t first, int orders, const Units& hypothesis, const Units& reference) {
    for (size_t n = 1; n <= static_cast<size_t>(orders); ++n) {
      NgramCounts line = count_ngrams(hypothesis, reference, n);
      if (line.reference == 0)
        line.hypothesis =
            0;  // not counted, as the reference is too short for n-grams of this order
      counts[first + n - 1] += line;
    }
  };
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    const std::string hypothesis = options.lowercase ? lower_case(hypotheses[i]) : hypotheses[i];
    const std::string reference = options.lowercase ? lower_case(references[i]) : references[i];
    add(0, options.character_order, character_units(hypothesis), character_units(reference));
    if (options.word_order > 0)
      add(static_cast<size_t>(options.character_order), options.word_order,
          words_and_marks(hypothesis), words_and_marks(reference));
  }

  double precision = 0, recall = 0;
  int orders = 0;
  for (const NgramCounts& c : counts) {
    if (c.hypothesis == 0 || c.reference == 0) continue;
    precision += static_cast<double>(c.shared) / static_cast<double>(c.hypothesis);
    recall += static_cast<double>(c.shared) / static_cast<double>(c.reference);
    ++orders;
  }
  if (precision + recall == 0) return out;
  precision /= orders;
  recall /= orders;
  const double factor = options.beta * options.beta;
  out.score = 100 * ((1 + factor) * precision * recall / (factor * precision + recall));
  return out;
}

std::string ChrfScore::text(int decimals) const {
  return concat(name, "|", signature, " = ", fixed(score, decimals));
}

}  // namespace nine
