// Lists of the best hypotheses of a recogniser or a translation system, with their references.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/enum_names.h"

namespace nine {

/// How a file of n-best lists is written; the lines of an utterance follow each other, the best
/// hypothesis first.
enum class NBestFormat : uint8_t {
  tsv,    ///< utterance TAB score TAB words
  srilm,  ///< utterance acoustic-score lm-score number-of-words words: SRILM's lines with the name
          ///< in front; the score is the sum of both, <s> and </s> are left out, and may be counted
  kaldi,  ///< utterance-N score words, of one utterance N = 1, 2, ...
  moses   ///< utterance ||| words ||| score; features may stand before the score, segmentation and
          ///< alignment before it (Marian) or behind it (Moses)
};
template <>
inline constexpr EnumNames<NBestFormat, 4> kEnumNames<NBestFormat>{
    "format of n-best lists",
    {{{NBestFormat::tsv, "tsv"},
      {NBestFormat::srilm, "srilm"},
      {NBestFormat::kaldi, "kaldi"},
      {NBestFormat::moses, "moses"}}}};

/// The largest of the scores that stand for the logarithm of 0: HTK's. Programs write -inf, -1e10,
/// -1e30 or the least number of their type.
inline constexpr double kLogZero = -1e10;

/// A text that the first pass proposed, with its score: larger is better.
struct NBestHypothesis {
  double score = 0;   ///< below -kLogZero; -infinity: a log zero
  std::string words;  ///< with single spaces between them
};

/// The hypotheses of one utterance (of one sentence to translate), the first pass's best first.
struct NBestList {
  std::string utterance;
  std::vector<NBestHypothesis> hypotheses;
};

/// How lists are read.
struct NBestOptions {
  NBestFormat format = NBestFormat::tsv;
  bool cost = false;         ///< scores are costs: smaller is better
  bool allow_empty = false;  ///< a hypothesis may have no words
};

/// Reads lists. A score of kLogZero or less becomes -infinity. Errors, with file and line:
/// TextReader's; a malformed line or score; a score of -kLogZero or more; a hypothesis without
/// words; of kaldi a name twice; an utterance whose lines do not follow each other; no list at all.
std::vector<NBestList> read_n_best(const std::string& path, const NBestOptions& options);

/// Texts by utterance.
using Transcripts = std::map<std::string, std::string>;

/// Reads the texts that belong to lists of a format, one a line: `utterance TAB words`. Beside
/// moses, lines may instead hold words alone, and are then the utterances 0, 1, ... Beside kaldi,
/// the separator may also be a space, as in Kaldi's `text`. A text may have no words. Errors, with
/// file and line: TextReader's; a line without a tab or with several; beside moses, |||; an
/// utterance twice; no line at all.
Transcripts read_transcripts(const std::string& path, NBestFormat format = NBestFormat::tsv);
/// Reads sclite's transcripts, `words (utterance)` a line. Errors as above.
Transcripts read_trn(const std::string& path);

/// The texts of the lists' utterances, in their order. Errors name utterance and file: a list
/// without a text, a text without a list.
std::vector<std::string> texts_of(const std::vector<NBestList>& lists, const Transcripts& texts,
                                  const std::string& path);

}  // namespace nine
