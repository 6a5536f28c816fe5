// Text as the BPE code reads it. Lines end with LF, CRLF or CR and with nothing else; words are
// separated by the space U+0020 and by nothing else. Every other character, such as a tab, NBSP or
// U+2028, is part of its word.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "data/string_table.h"

namespace nine {

/// Rewrites a line (without its end), such as tokenize_13a; empty: lines stay as they are.
using LineFilter = std::function<std::string(std::string_view)>;

/// A text in blocks of whole lines of about four megabytes. Errors name file, line and byte: a
/// missing or unreadable file, a directory, invalid UTF-8. An empty text has no blocks.
class TextBlocks {
 public:
  explicit TextBlocks(const std::string& path, LineFilter filter = {});
  /// Reads a stream; `name` stands for it in errors.
  TextBlocks(std::istream& in, std::string name, LineFilter filter = {});
  TextBlocks(const TextBlocks&) = delete;
  TextBlocks& operator=(const TextBlocks&) = delete;

  /// Sets `block` to the next lines with their line feeds (the text's last line may have none),
  /// valid until the next call; false at the end.
  bool next(std::string_view& block);

 private:
  void read_more();
  void check(std::string_view block);

  std::ifstream file_;
  std::istream* in_;
  std::string name_;
  LineFilter filter_;
  std::string buffer_;  // what was read: the lines handed out, then the start of the next
  size_t given_ = 0;    // bytes of buffer_ that were handed out
  std::string filtered_;
  int64_t lines_ = 0;  // handed out so far
};

/// Calls f(line, end) for each line of a block; `end` is what ends it: "\n", "\r\n", "\r", or
/// nothing at the text's end.
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

/// Where the words of a line begin and end: around them are spaces.
struct LineMargins {
  size_t begin = 0, end = 0;
  explicit LineMargins(std::string_view line) {
    begin = std::min(line.find_first_not_of(' '), line.size());
    end = begin == line.size() ? begin : line.find_last_not_of(' ') + 1;
  }
};

/// Calls f(word) for each word of a line.
template <class F>
void for_each_word(std::string_view line, F&& f) {
  const LineMargins margins(line);
  const char* at = line.data() + margins.begin;
  const char* const end = line.data() + margins.end;
  while (at < end) {
    const void* space = std::memchr(at, ' ', static_cast<size_t>(end - at));
    const char* stop = space ? static_cast<const char*>(space) : end;
    if (stop > at) f(std::string_view(at, static_cast<size_t>(stop - at)));
    at = stop + 1;
  }
}

/// The different words of a text in the order of their first appearance, with their counts.
struct WordTally {
  StringTable words;
  std::vector<int64_t> counts;  ///< by word number

  void add(std::string_view word, int64_t count = 1);
  /// Counts the words of a text.
  void add(TextBlocks& text);
  /// Adds the lines of a dictionary, `word count` each. Errors: a line that is not that.
  void add_dictionary(TextBlocks& text, const std::string& name);
  /// Word numbers, the most frequent first, ties in order of first appearance.
  std::vector<int32_t> by_count() const;
  /// subword-nmt's vocabulary file: `word count` a line in that order.
  std::string vocabulary_text() const;
};

/// Parses a whole number >= 0; false when `text` is something else.
bool parse_count(std::string_view text, int64_t& count);
/// Splits `line`, without surrounding spaces, at its only space; false when it has none or several.
bool split_in_two(std::string_view line, std::string_view& first, std::string_view& second);

}  // namespace nine
