// Reads text: files and streams as lines or as blocks of lines, and lines as words.
//
// There are two kinds of text, each with its TextRules. kModelText is the text that lm_train,
// mt_train, lm_score and mt_translate read, and a dict.txt. kCopiedText is the text that bpe reads:
// bpe changes words and copies everything else unchanged, so that its output equals that of
// subword-nmt.
//
//                            kModelText                 kCopiedText
//   words are separated by   spaces and tabs            spaces (data/bpe_text.h)
//   lines end with           LF, CRLF                   LF, CRLF, CR
//   a CR inside a line       is an error                see above
//   U+FEFF at the start      is dropped                 is a character of its word
//   a NUL byte               is an error                is a character of its word
//   an empty file            is an error                has no lines
//
// For both kinds: a file or a stream that is packed by gzip or zstd is unpacked (data/unpack.h).
// The last line may lack its end. Empty lines are lines. Nothing else separates words or ends
// lines, so U+00A0, U+3000, U+0085 and U+2028 are part of a word. Invalid UTF-8 is an error. In
// text for models a tab always separates words, so no word with a tab gets into a dict.txt. Only
// bpe reads a tab as a character, because subword-nmt does.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nine {

/// U+FEFF in UTF-8, with which some programs begin a file. Inside a text it is an ordinary
/// character.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// The rules of reading a text: see the table at the top of this file.
struct TextRules {
  bool cr_ends_line = false;  ///< true: also a CR without LF ends a line
  bool drop_byte_order_mark = true;
  bool refuse_nul = true;
  bool refuse_other_kinds = true;  ///< false: a text may begin like a zip archive, for example
  bool refuse_empty_file = true;   ///< a stream, a pipe or a device may always be empty
  /// Returns a line as soon as it has ended, without waiting for more text; a block is then one
  /// line. (If CR ends lines, a CR waits for the next byte, which may be LF.)
  bool line_by_line = false;
};
inline constexpr TextRules kModelText{};
inline constexpr TextRules kCopiedText{.cr_ends_line = true,
                                       .drop_byte_order_mark = false,
                                       .refuse_nul = false,
                                       .refuse_empty_file = false};
/// For bpe's codes and counts, which are not copied: a byte-order mark is not part of a word.
inline constexpr TextRules kCodesText{
    .cr_ends_line = true, .refuse_nul = false, .refuse_empty_file = false};

/// Rewrites a line (without its end), as tokenize_13a does; empty: lines are not changed.
using LineFilter = std::function<std::string(std::string_view)>;

/// Reads the lines of one or several files, one file after another, or of a stream: line by line,
/// or in blocks of whole lines. Both ways continue at the same position. Memory: 256 KiB for lines
/// and 512 KiB for blocks, or the longest line if it is longer. Errors name file, line and byte: a
/// missing or unreadable file, a directory, a damaged packed file, a known kind of file that is not
/// text, invalid UTF-8, and text that the rules refuse.
class TextReader {
 public:
  /// Error: no paths.
  explicit TextReader(std::vector<std::string> paths, const TextRules& rules = kModelText,
                      LineFilter filter = {});
  /// `name` stands for the stream in errors ("standard input").
  TextReader(std::istream& in, std::string name, const TextRules& rules = kModelText,
             LineFilter filter = {});
  TextReader(const TextReader&) = delete;
  TextReader& operator=(const TextReader&) = delete;

  /// Sets `line` to the next line without its end, valid until the next call. Returns false after
  /// the last line.
  bool next_line(std::string_view& line);
  /// Sets `block` to the next lines of one file with their ends (with line_by_line, to one line),
  /// valid until the next call. Returns false after the last line.
  bool next_block(std::string_view& block);
  /// Returns the first unread bytes, at most 256 KiB, without reading them, so that a caller can
  /// see the kind of text. In kCopiedText they include the byte-order mark.
  std::string_view peek();
  /// Returns the place of the last line that was read, for errors: "train.txt, line 12".
  std::string place() const;
  /// Returns the name of the file that is read.
  const std::string& name() const { return name_; }

 private:
  bool open();
  void begin();
  void close();
  bool read_more();
  bool find_line(size_t& size, size_t& with_end);
  bool find_block(size_t& size);
  size_t find_line_end(size_t from) const;
  void drop_byte_order_mark(std::string_view& text) const;
  void check(std::string_view text) const;
  bool ends_file(std::string_view text) const;
  std::string why_invalid(std::string_view text, size_t bad) const;
  int64_t line_ends(std::string_view text) const;
  std::string_view unread() const {
    return {buffer_.data() + begin_, static_cast<size_t>(end_ - begin_)};
  }

  std::vector<std::string> paths_;
  TextRules rules_;
  LineFilter filter_;
  size_t file_ = 0;  // number in paths_ of the next file to open
  std::ifstream stream_;
  std::unique_ptr<std::istream> unpacked_;  // the text of a packed file
  std::istream* in_ = nullptr;              // the stream that is read; null between files
  bool begun_ = false;                      // true if some text of the stream was read
  std::string name_;
  std::vector<char> buffer_;
  std::ptrdiff_t begin_ = 0, end_ = 0;  // the unread text in buffer_
  std::string filtered_;
  int64_t lines_ = 0;  // lines of the file that were returned so far
};

/// Calls f(line, end) for each line of a block of kCopiedText; `end` is what ends it: "\n", "\r\n",
/// "\r", or nothing at the text's end.
template <class F>
void for_each_line(std::string_view block, F&& f) {
  size_t feed = block.find('\n'), carriage = block.find('\r');
  for (size_t at = 0; at < block.size();) {
    const size_t stop = std::min({feed, carriage, block.size()});
    const size_t next =
        stop == carriage && feed == stop + 1 ? stop + 2 : std::min(stop + 1, block.size());
    f(block.substr(at, stop - at), block.substr(stop, next - stop));
    at = next;
    if (feed < at) feed = block.find('\n', at);
    if (carriage < at) carriage = block.find('\r', at);
  }
}

/// Calls f(word) for each word of a line of kModelText. Spaces and tabs separate words. The words
/// point into the line.
template <class F>
void for_each_word(std::string_view line, F&& f) {
  const auto separates = [](char c) { return c == ' ' || c == '\t'; };
  const char* at = line.data();
  const char* const end = at + line.size();
  for (;;) {
    while (at < end && separates(*at)) ++at;
    if (at == end) return;
    const char* const begin = at;
    while (at < end && !separates(*at)) ++at;
    f(std::string_view(begin, static_cast<size_t>(at - begin)));
  }
}

/// Sets `words` to the words of a line of kModelText; they point into it.
void split_words(std::string_view line, std::vector<std::string_view>& words);

/// Calls `visit` with the words of each line of files of kModelText in order. Errors: TextReader's.
void read_sentences(const std::vector<std::string>& paths,
                    const std::function<void(std::span<const std::string_view>)>& visit);

/// Parses the whole `text` as a whole number >= 0, such as a word's count. Returns false if `text`
/// is not such a number.
bool parse_count(std::string_view text, int64_t& count);

/// Parses the whole `text` as a finite decimal number, which may begin with +. A number that is too
/// small for a double becomes 0. Returns false if `text` is not such a number.
bool parse_number(std::string_view text, double& number);

/// Returns the index of the first byte that does not belong to valid UTF-8 (RFC 3629: no overlong
/// forms, no surrogates, nothing beyond U+10FFFF), or npos.
size_t find_invalid_utf8(std::string_view text);

}  // namespace nine
