#include "data/dict_line.h"

#include <tuple>
#include <unordered_set>
#include <utility>

#include "core/error.h"
#include "core/quote.h"
#include "data/text.h"

namespace nine {

namespace {

std::string_view without_trailing_spaces(std::string_view text) {
  const size_t last = text.find_last_not_of(' ');
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

/// Splits off the text after the last space: "the 12" becomes "the" and "12". Without a space, the
/// whole text is the field.
std::pair<std::string_view, std::string_view> split_last(std::string_view line) {
  const size_t space = line.find_last_of(' ');
  if (space == std::string_view::npos) return {std::string_view(), line};
  return {without_trailing_spaces(line.substr(0, space)), line.substr(space + 1)};
}

}  // namespace

std::string dict_text(std::span<const std::string> words, std::span<const int64_t> counts,
                      int32_t specials) {
  const auto first = static_cast<size_t>(specials);
  std::string text;
  if (first < words.size() && words[first].starts_with(kByteOrderMark)) text = kByteOrderMark;
  std::unordered_set<std::string_view> listed(words.begin(), words.begin() + specials);
  for (size_t i = first; i < words.size(); ++i) {
    const bool repeated = !listed.insert(words[i]).second;
    text +=
        concat(words[i], ' ', counts[i], repeated ? " " : "", repeated ? kDictOverwrite : "", '\n');
  }
  return text;
}

DictEntry parse_dict_line(std::string_view line, const std::string& place) {
  DictEntry entry;
  auto [word, field] = split_last(without_trailing_spaces(line));
  if (field == kDictOverwrite) {
    entry.overwrite = true;
    std::tie(word, field) = split_last(word);
  }
  require(!word.empty(), place, ": ", quote(line),
          " lacks a word or its count; each line of a dictionary is `word count`",
          line.find('\t') == std::string_view::npos ? "" : ", with a space in place of this tab");
  require(word.find(' ') == std::string_view::npos, place, ": ", quote(word),
          " is not a single word; each line of a dictionary is `word count`");
  require(parse_count(field, entry.count), place, ": the count ", quote(field), " of ", quote(word),
          " is not a whole number >= 0; each line of a dictionary is `word count`");
  entry.word = word;
  return entry;
}

}  // namespace nine
