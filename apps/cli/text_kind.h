// Recognises files of other kinds that were given as a text: their columns would be read as words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace nine::app {

/// True if the first line that is not blank begins with the root of HTML, XML, WMT's SGML or TMX.
bool is_markup(std::span<const std::string> lines);
/// Returns the kind of file that the lines seem to be, such as "a dictionary (each line `word
/// count`)"; empty for a text. A kind is recognised only if all lines that are not empty have its
/// form: HTML, XML or SGML (its root, or 9 of 10 lines begin and end as tags do), sentences between
/// markers such as <start> and <end>, JSON (a whole object or array, or one on each line), a
/// dictionary, codes of BPE, a table with tabs (n-best lists and transcripts too), both sides of a
/// parallel text on a line, an n-best list of Kaldi or SRILM, a .trn file.
std::string other_kind(std::span<const std::string> all);
/// Returns the warning about `text`, a file's name, that is of another kind.
std::string other_kind_text(std::string_view kind, std::string_view text);

/// Prints a warning on standard error if `text`, a file's name, is of another kind. A warning, not
/// an error: a text may be about JSON.
void warn_of_other_kind(std::span<const std::string> lines, std::string_view text);

/// Prints subword_warning() (data/bpe.h) on standard error.
void warn_of_subwords(std::span<const std::string> a, std::string_view name_a,
                      std::span<const std::string> b, std::string_view name_b);

/// Prints a warning on standard error if a text that is to be cut into subwords seems cut already:
/// `joints` words of it end with `separator` (count_joints).
void warn_of_joints(int64_t joints, std::string_view separator, std::string_view text);

}  // namespace nine::app
