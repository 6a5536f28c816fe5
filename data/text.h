// Text in: files and streams as lines or as blocks of lines, and lines as words.
//
// Two kinds of text are read, each by its TextRules. Text for models is what lm_train, mt_train,
// lm_score and mt_translate read, and a dict.txt. Text that is copied is what bpe reads: it changes
// words and gives back everything else as it was, as subword-nmt does, whose output it equals.
//
//                            kModelText                 kCopiedText
//   words are separated by   spaces and tabs            spaces (data/bpe_text.h)
//   lines end with           LF, CRLF                   LF, CRLF, CR
//   CR alone ends all lines  is an error                see above
//   U+FEFF at the start      is dropped                 is a character of its word
//   a NUL byte               is an error                is a character of its word
//   an empty file            is an error                has no lines
//
// For both: a file or a stream that gzip or zstd packed is unpacked (data/unpack.h), so that it
// counts as the text in it; the last line may lack its end; empty lines are lines; nothing else
// separates words or ends lines, so that U+00A0, U+3000, U+0085 and U+2028 belong to their word;
// invalid UTF-8 is an error. A tab separates the words of a text for models wherever one is read,
// so that no word with a tab gets into a dict.txt; bpe alone takes it for a character, since
// subword-nmt does.
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

/// U+FEFF in UTF-8, as some programs begin a file; inside a text it is a character like any other.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// How a text is read: the table at the top of this file.
struct TextRules {
  bool cr_ends_line = false;  ///< also where no LF follows
  bool drop_byte_order_mark = true;
  bool refuse_nul = true;
  bool refuse_empty_file = true;  ///< a stream, a pipe or a device may be empty in any case
  /// A line is given as soon as it has ended, without waiting for more text, and a block is one
  /// line. (A CR that ends lines waits for the next byte, which may be LF.)
  bool line_by_line = false;
};
inline constexpr TextRules kModelText{};
inline constexpr TextRules kCopiedText{.cr_ends_line = true,
                                       .drop_byte_order_mark = false,
                                       .refuse_nul = false,
                                       .refuse_empty_file = false};
/// Of bpe's codes and counts, which nobody gets back: a byte-order mark is no part of a word.
inline constexpr TextRules kCodesText{
    .cr_ends_line = true, .refuse_nul = false, .refuse_empty_file = false};

/// Rewrites a line (without its end), such as tokenize_13a; empty: lines stay as they are.
using LineFilter = std::function<std::string(std::string_view)>;

/// The lines of one or several files, one after another, or of a stream. It is read by lines or by
/// blocks of whole lines; both continue at the same position. Memory: 256 KiB for lines and 512
/// KiB for blocks, or the longest line where that is more. Errors name file, line and byte: a
/// missing or unreadable file, a directory, a damaged packed one, a known kind of file that is no
/// text, invalid UTF-8, and what the rules refuse.
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

  /// Sets `line` to the next line without its end, valid until the next call; false after the last.
  bool next_line(std::string_view& line);
  /// Sets `block` to the next lines of one file with their ends (line by line: to one), valid until
  /// the next call; false after the last.
  bool next_block(std::string_view& block);
  /// The first bytes that are not read yet, 256 KiB at most, which stay unread: by them a reader
  /// knows what it is about to read. Of kCopiedText with its byte-order mark.
  std::string_view peek();
  /// Where the line that was read last stands, for errors: "train.txt, line 12".
  std::string place() const;

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
  size_t file_ = 0;  // of paths_: the one to open next
  std::ifstream stream_;
  std::unique_ptr<std::istream> unpacked_;  // of a packed file
  std::istream* in_ = nullptr;              // what is being read; null between files
  bool begun_ = false;                      // whether something of it was read
  std::string name_;
  std::vector<char> buffer_;
  std::ptrdiff_t begin_ = 0, end_ = 0;  // of buffer_: the unread text
  std::string filtered_;
  int64_t lines_ = 0;  // of the file, returned so far
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

/// Calls f(word) for each word of a line of kModelText: what spaces and tabs separate. The words
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

/// Parses all of `text` as a whole number >= 0, such as a word's count; false when it is something
/// else.
bool parse_count(std::string_view text, int64_t& count);

/// Parses all of `text` as a finite decimal number, which may begin with +; one that is too small
/// for a double is 0. False when it is something else.
bool parse_number(std::string_view text, double& number);

/// Index of the first byte that does not belong to valid UTF-8 (RFC 3629: no overlong forms, no
/// surrogates, nothing beyond U+10FFFF), or npos.
size_t find_invalid_utf8(std::string_view text);

}  // namespace nine
