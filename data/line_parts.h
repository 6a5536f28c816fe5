// What the readers of n-best lists and of transcripts share: parts of lines, places in messages,
// names that may occur once.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/quote.h"
#include "data/text.h"

namespace nine::lines {

using Words = std::vector<std::string_view>;

inline std::string joined(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

inline std::string joined_words(std::string_view text) {
  Words words;
  split_words(text, words);
  return joined(words);
}

// Returns the parts of a line between separators.
inline Words parts_of(std::string_view line, std::string_view separator) {
  Words parts;
  for (size_t at = 0;;) {
    const size_t end = line.find(separator, at);
    parts.push_back(line.substr(at, end - at));
    if (end == std::string_view::npos) return parts;
    at = end + separator.size();
  }
}

inline Words words_of(std::string_view text) {
  Words words;
  split_words(text, words);
  return words;
}

// Where a part of the line that was read last stands. It becomes text only in a message.
struct Place {
  const TextReader& reader;
  std::string_view line;
  std::string_view part = {};  // a part of the line; empty: the line as a whole

  Place at(std::string_view of_line) const { return {reader, line, of_line}; }
};
inline std::string to_text(const Place& place) {
  if (place.part.data() == nullptr) return place.reader.place();
  return concat(place.reader.place(), ", column ", place.part.data() - place.line.data() + 1);
}

// Remembers the line of each name, because a name may occur only once in a file.
class Names {
 public:
  // Adds a name. Error: the file has had `name` before; the message names both lines and ends with
  // `rule`.
  void add(const std::string& name, int64_t line, const std::string& path, std::string_view rule) {
    const auto [before, is_new] = lines_.emplace(name, line);
    require(is_new, path, ", line ", line, ": ", quote(name), " is in line ", before->second,
            " already; ", rule);
  }

 private:
  std::map<std::string, int64_t> lines_;
};

}  // namespace nine::lines
