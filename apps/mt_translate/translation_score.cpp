#include "apps/mt_translate/translation_score.h"

#include <cstdio>

#include "apps/cli/option_conflicts.h"
#include "apps/cli/text_io.h"
#include "apps/cli/text_kind.h"
#include "core/error.h"
#include "data/measures/chrf.h"

namespace nine::app {

namespace {

BleuOptions bleu_options(const TranslationScoreFlags& f) {
  BleuOptions o{.tokenizer = f.tokenize, .lowercase = f.lowercase, .smoothing = f.smooth_method};
  if (f.smooth_value >= 0) o.smooth_value = f.smooth_value;
  return o;
}

}  // namespace

void TranslationScoreFlags::declare(Options& o) {
  o.add("tokenize", tokenize,
        "how BLEU splits text into words: 13a, as for raw text; none, at spaces");
  o.add("lowercase", lowercase, "score lower-cased text");
  o.add("smooth-method", smooth_method, "smoothing of BLEU if no n-gram of some length matches");
  o.add("smooth-value", smooth_value, "value of the smoothing methods floor and add-k")
      .range(0, 1000)
      .default_text("0.1 for floor, 1 for add-k");
  o.add("chrf-word-order", chrf_word_order,
        "longest word n-grams that chrF counts besides characters; 2: chrF++")
      .range(0, 9);
  o.add("width", width, "number of decimals of the scores").range(0, 12);
}

void TranslationScoreFlags::check() const {
  const bool takes_value =
      smooth_method == BleuSmoothing::floor || smooth_method == BleuSmoothing::add_k;
  require_usage(smooth_value < 0 || takes_value,
                "--smooth-value is for --smooth-method floor and add-k, not ", smooth_method,
                ": leave it out");
}

void require_references(const std::string& references, size_t expected, const std::string& name,
                        size_t lines) {
  require(lines == expected, name, " has ", lines, " lines, but ", input_name(references), " has ",
          expected, ": each translation needs its reference on the same line, even if it is empty");
}

void warn_of_references(const std::string& name, std::span<const std::string> translated,
                        const std::string& references, std::span<const std::string> expected) {
  if (same_file(name, references)) {
    const std::string said =
        concat("mt_translate: warning: ", name, " and --reference ", references,
               " are one file: the text is scored against itself\n");
    std::fputs(said.c_str(), stderr);
  }
  warn_of_subwords(translated, input_name(name), expected, input_name(references));
}

std::string score_lines(std::span<const std::string> translated,
                        std::span<const std::string> references,
                        const TranslationScoreFlags& flags) {
  const BleuScore bleu = corpus_bleu(translated, references, bleu_options(flags));
  const ChrfScore chrf = corpus_chrf(
      translated, references, {.word_order = flags.chrf_word_order, .lowercase = flags.lowercase});
  return concat(bleu.text(flags.width), "\n", chrf.text(flags.width), "\n");
}

std::string score_translation(const std::string& hypotheses, const std::string& references,
                              const TranslationScoreFlags& flags) {
  const std::vector<std::string> translated = read_lines(hypotheses),
                                 expected = read_lines(references);
  require_references(references, expected.size(), input_name(hypotheses), translated.size());
  warn_of_other_kind(translated, input_name(hypotheses));
  warn_of_other_kind(expected, input_name(references));
  warn_of_references(hypotheses, translated, references, expected);
  return score_lines(translated, expected, flags);
}

}  // namespace nine::app
