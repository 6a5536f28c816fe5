// Raw text for language models: files byte for byte, the documents in them, and their ids.
//
// A document ends with its blank lines, or with its file. In a text without blank lines each line
// is a document. A blank line has no other characters than spaces, tabs and CR. Ends of lines and
// blank lines are text like any other. The dictionary's </s> follows each document, and stands
// before the first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_names.h"
#include "data/corpus.h"
#include "data/text.h"
#include "data/tokenizers/model_tokenizer.h"

namespace nine {

/// How documents end in the text that a model was trained on. Texts for the model follow.
enum class DocumentEnds : uint8_t { blank_lines, lines };
template <>
inline constexpr EnumNames<DocumentEnds, 2> kEnumNames<DocumentEnds>{
    "ends of documents",
    {{{DocumentEnds::blank_lines, "blank lines"}, {DocumentEnds::lines, "lines"}}}};

/// Bytes are text: only LF ends a line, CR and NUL and a byte-order mark are characters. Invalid
/// UTF-8 and an empty file are errors.
inline constexpr TextRules kRawText{
    .cr_ends_line = true, .drop_byte_order_mark = false, .refuse_nul = false};

/// A part of a text, and whether </s> follows it.
struct RawPart {
  std::string_view text;
  bool ends = true;
};

/// A raw text in memory.
struct RawText {
  std::string bytes;          ///< of all files, one after another
  std::vector<size_t> files;  ///< the end of each file in `bytes`

  /// Reads files, also those that gzip or zstd packed. Errors: those of TextReader, with kRawText.
  static RawText read(const std::vector<std::string>& paths);
  /// Returns how documents end here: with blank lines if there are any, else with lines.
  DocumentEnds ends() const;
  /// Returns the documents. Together they are `bytes`, which they point into.
  std::vector<RawPart> documents(DocumentEnds ends) const;
};

/// Returns the lines of one text, which keep their LF, as parts: </s> follows the last line of each
/// document.
std::vector<RawPart> lines_of_documents(std::span<const std::string> lines, DocumentEnds ends);

/// Encodes parts, on all threads. Each part is a sentence of the corpus. A part without any token
/// gets </s>, too. The corpus knows bytes and words of the text, and its checksum is that of the
/// bytes. Error: those of ModelTokenizer::encode().
Corpus encode_parts(const ModelTokenizer& tokenizer, std::span<const RawPart> parts);

/// Calls f(begin, end) for each word of a text: the places of its bytes. Words are what ASCII white
/// space separates, as `wc -w` counts them.
template <class F>
void for_each_raw_word(std::string_view text, F&& f) {
  constexpr std::string_view kSpace = " \t\n\r\v\f";
  for (size_t end = 0;;) {
    const size_t begin = text.find_first_not_of(kSpace, end);
    if (begin == std::string_view::npos) return;
    end = std::min(text.find_first_of(kSpace, begin), text.size());
    f(begin, end);
  }
}

}  // namespace nine
