// N-best lists of a speech recogniser or a translation system, with their references.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/enum_names.h"

namespace nine {

/// The format of a file of n-best lists. The lines of an utterance follow each other, the best
/// hypothesis first.
enum class NBestFormat : uint8_t {
  tsv,    ///< utterance TAB score TAB words
  srilm,  ///< utterance acoustic-score lm-score number-of-words words: SRILM's lines after the name
          ///< of the utterance; the score is the sum of both scores; <s>, </s> and pauses (-pau-)
          ///< are left out of the words, but the number may count them
  kaldi,  ///< utterance-N score words, with N = 1, 2, ... for the hypotheses of an utterance
  moses,  ///< utterance ||| words ||| score; features may stand before the score, segmentation and
          ///< alignment before the score (Marian) or after it (Moses). Segmentations among the
          ///< words, such as |0-1|, are left out, with a notice()
  fairseq,  ///< the output of fairseq-generate: H-N TAB score TAB words, with S-, T-, D-, P- and
            ///< other lines of sentence N; the score is a logarithm to base 2, divided by a power
            ///< of the length
  espnet,   ///< a directory with 1best_recog/text, 1best_recog/score, 2best_recog/text, ..., or
            ///< with such directories output.1, output.2, ...
  whisper   ///< JSON: an array of objects, one object a line, or one object; each is a hypothesis
            ///< with the keys "utterance" and "segments", whose elements have "text" and
            ///< "avg_logprob", and may have "seek", "tokens" and "words". In a file of one object,
            ///< and in a directory of files, "utterance" may be missing: it is the file's name.
            ///< The score is the sum of avg_logprob times the number of tokens, or of words in a
            ///< segment without "tokens", where the end of a window counts as a token
};
template <>
inline constexpr EnumNames<NBestFormat, 7> kEnumNames<NBestFormat>{
    "format of n-best lists",
    {{{NBestFormat::tsv, "tsv"},
      {NBestFormat::srilm, "srilm"},
      {NBestFormat::kaldi, "kaldi"},
      {NBestFormat::moses, "moses"},
      {NBestFormat::fairseq, "fairseq"},
      {NBestFormat::espnet, "espnet"},
      {NBestFormat::whisper, "whisper"}}}};
/// The formats that n_best_text() writes.
inline constexpr std::array kWrittenFormats{NBestFormat::tsv, NBestFormat::srilm,
                                            NBestFormat::kaldi, NBestFormat::moses};

/// The largest score that stands for the logarithm of 0, as HTK writes it. Other programs write
/// -inf, -1e30 or the lowest number of their type.
inline constexpr double kLogZero = -1e10;

/// When a word was said, in seconds.
struct WordTime {
  double begin = 0, end = 0;
};

/// A hypothesis of the first pass. Larger scores are better. A score is below 1e10, which is
/// -kLogZero; -infinity is the logarithm of 0.
struct NBestHypothesis {
  double score = 0;                  ///< the total of the file, or the sum of `scores`
  std::string words;                 ///< with single spaces between them
  std::vector<double> scores = {};   ///< in the order of NBestFile::scores; empty: `score` alone
  std::vector<WordTime> times = {};  ///< of the words; empty: the file has no times
};

/// The hypotheses of one utterance, or of one sentence to translate, the best of the first pass
/// first.
struct NBestList {
  std::string utterance;
  std::vector<NBestHypothesis> hypotheses;
};

/// The lists of a file, with the names of the scores that each hypothesis has.
struct NBestFile {
  std::vector<std::string> scores;  ///< names, at least one
  std::vector<NBestList> lists;
};
/// The name of the only score of a file that names none.
inline constexpr const char* kOnlyScore = "score";
/// The name of a file's own total score: a column of a file with a header, or the last score of
/// Moses' lines.
inline constexpr const char* kTotalScore = "total";

/// Settings of reading lists.
struct NBestOptions {
  NBestFormat format = NBestFormat::tsv;
  bool cost = false;         ///< true if scores are costs: smaller is better
  bool allow_empty = false;  ///< true if a hypothesis may have no words
  /// The names of the scores to read, or "all" alone: each column of a header, each feature. Empty:
  /// the total of the file; without a total, each column of a header, or else the only score (for
  /// srilm, the sum of both). The names are, by format:
  ///   - tsv without a header, kaldi: names for the columns before the words
  ///   - tsv with a header: columns
  ///   - moses: features, each with all its numbers (tm is tm_1, tm_2, ...), or kTotalScore
  ///   - srilm: "acoustic" and "lm"
  ///   - fairseq: "score"; "sum", the sum of the numbers of the P- line, log2 of the probability
  std::vector<std::string> scores = {};
};

/// Error: a name of a score is empty, is there twice, or has a space or one of the characters that
/// separate names from numbers (= : |).
void check_score_names(const std::vector<std::string>& names);

/// Reads lists. A score of kLogZero or less becomes -infinity. Errors name file, line and, of a
/// number, column: those of count_words(); a malformed line or score; a score of -kLogZero or more;
/// a hypothesis without words, or without a score of these names; a repeated name (kaldi); an
/// utterance whose lines do not follow each other; no list.
NBestFile read_n_best_file(const std::string& path, const NBestOptions& options);
/// Returns the lists alone.
std::vector<NBestList> read_n_best(const std::string& path, const NBestOptions& options);

/// Returns the lists as text. read_n_best_file() reads the same words and numbers back with these
/// names. tsv begins with the header 'utterance TAB names TAB words'. kaldi has the scores as
/// columns. moses has several scores as features, and a hypothesis's `score` as the total. srilm
/// has one score or two, and the number of words. With `cost`, writes each score with the other
/// sign. Errors: a format that is not in kWrittenFormats; more than two scores for srilm; those of
/// check_score_names(). Errors that name the utterance: words, a name or a score that the format
/// would read otherwise.
std::string n_best_text(const NBestFile& file, NBestFormat format, bool cost = false);

}  // namespace nine
