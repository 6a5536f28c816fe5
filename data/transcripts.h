// Reference texts of utterances, in the formats that recognisers and scoring tools write.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "data/n_best.h"

namespace nine {

/// The texts by the name of their utterance.
using Transcripts = std::map<std::string, std::string>;

/// The format of a file of transcripts.
enum class TranscriptFormat : uint8_t {
  automatic,  ///< by the name of the file (.trn, .stm, .ctm, also before .gz and .zst). For other
              ///< names by the format of the lists: kaldi for kaldi and espnet, lines for moses,
              ///< fairseq for fairseq, and tsv for all other formats
  tsv,        ///< utterance TAB words
  kaldi,      ///< utterance, a space or a tab, words
  lines,      ///< words alone, for the utterances 0, 1, ...; a line with a tab is read as tsv
  trn,        ///< words (utterance)
  stm,        ///< waveform channel speaker begin end <label> words; the label may be missing
  ctm,        ///< waveform channel begin duration word confidence; the confidence may be missing
  fairseq     ///< the lines T-N TAB words of fairseq-generate, for the utterances N
};
template <>
inline constexpr EnumNames<TranscriptFormat, 8> kEnumNames<TranscriptFormat>{
    "format of transcripts",
    {{{TranscriptFormat::automatic, "auto"},
      {TranscriptFormat::tsv, "tsv"},
      {TranscriptFormat::kaldi, "kaldi"},
      {TranscriptFormat::lines, "lines"},
      {TranscriptFormat::trn, "trn"},
      {TranscriptFormat::stm, "stm"},
      {TranscriptFormat::ctm, "ctm"},
      {TranscriptFormat::fairseq, "fairseq"}}}};

/// Returns the format that TranscriptFormat::automatic stands for, given the name of the file and
/// the format of the lists.
TranscriptFormat transcript_format(const std::string& path, NBestFormat lists);

/// Reads transcripts. TranscriptFormat::automatic assumes lists in the format tsv. A text may have
/// no words. In stm and ctm, an utterance is a waveform, or 'waveform-channel' if the waveform has
/// several channels. Its segments and words are joined in the order of their times. Errors name
/// file, line and column: those of count_words(); a malformed line or time; segments that overlap;
/// ||| for lines; a repeated utterance; no text. Texts that sclite treats in its own way are errors
/// too: alternatives ({ a / b }), optional words ((uh)), and segments that are not scored.
Transcripts read_transcripts(const std::string& path, TranscriptFormat format);
/// Reads transcripts in the format that fits n-best lists in `format`: kaldi, lines, fairseq or
/// tsv, as for TranscriptFormat::automatic. Does not look at the name of the file, so that a .trn,
/// .stm or .ctm file needs the function above.
Transcripts read_transcripts(const std::string& path, NBestFormat format = NBestFormat::tsv);
/// Reads sclite's transcripts, one `words (utterance)` a line. Errors: as read_transcripts().
Transcripts read_trn(const std::string& path);

/// Returns the texts of the lists' utterances in the order of the lists. Errors name utterance and
/// file: a list without a text; a text without a list.
std::vector<std::string> texts_of(const std::vector<NBestList>& lists, const Transcripts& texts,
                                  const std::string& path);

}  // namespace nine
