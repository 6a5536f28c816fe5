// Tokenised text: one sentence a line, words separated by spaces or tabs. Nothing else separates:
// what looks like a space in another script (U+00A0, U+3000) belongs to its word, as in the BPE
// files.
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nine {

/// U+FEFF in UTF-8, as some programs begin a file; inside a text it is a character like any other.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// The lines of one or several files, one after another. A line ends with LF or CRLF, the last one
/// also with its file; empty lines are lines; a byte-order mark at a file's start is dropped.
/// Memory: the longest line. Errors name file and line: a missing, unreadable or empty file, a
/// directory, a NUL byte, invalid UTF-8.
class LineReader {
 public:
  explicit LineReader(std::vector<std::string> paths);
  /// Lines of a stream, which may be empty; `name` stands for it in errors ("standard input").
  LineReader(std::istream& in, std::string name);
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// Sets `line` to the next line without its end, valid until the next call; false after the last
  /// one.
  bool next(std::string_view& line);
  /// Where the last line stands, for errors: "train.txt, line 12".
  std::string place() const;

 private:
  void open(const std::string& path);
  void check(std::string_view line) const;

  std::vector<std::string> paths_;
  size_t file_ = 0;  // of paths_: the one to open next
  std::vector<char> buffer_;
  std::ifstream stream_;
  std::istream* in_ = nullptr;  // what is being read; null between files
  std::string name_;
  std::string line_;
  int64_t line_number_ = 0;
};

/// Sets `words` to the words of `line`; they point into it.
void split_words(std::string_view line, std::vector<std::string_view>& words);

/// Calls `visit` with the words of each line of `paths` in order. Errors: LineReader's.
void read_sentences(const std::vector<std::string>& paths,
                    const std::function<void(std::span<const std::string_view>)>& visit);

/// Index of the first byte that does not belong to valid UTF-8 (RFC 3629: no overlong forms, no
/// surrogates, nothing beyond U+10FFFF), or npos.
size_t find_invalid_utf8(std::string_view text);

}  // namespace nine
