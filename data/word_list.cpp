#include "data/word_list.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/quote.h"
#include "data/text.h"
#include "data/unicode.h"

namespace nine {
namespace {

// A line as what stands before and behind its last `separator`; no separator: all of it before.
struct Halves {
  std::string_view left, right;
  Halves(std::string_view line, std::string_view separator) {
    const size_t at = line.rfind(separator);
    left = line.substr(0, at);
    if (at != std::string_view::npos) right = line.substr(at + separator.size());
  }
};

template <class Fits>
bool all_fit(std::span<const std::string> lines, Fits&& fits) {
  return std::all_of(lines.begin(), lines.end(), fits);
}

bool is_json(std::span<const std::string> lines) {
  const std::string_view first = lines[0];
  const std::string_view second = lines.size() > 1 ? std::string_view(lines[1]) : "";
  const size_t inside = second.find_first_not_of(" \t");
  if (first == "{" || first == "[")
    return inside != std::string_view::npos &&
           std::string_view("\"{[").find(second[inside]) != std::string_view::npos;
  return (first.starts_with("{\"") && first.find("\":") != std::string_view::npos) ||
         (first.starts_with("[\"") && first.find("\",") != std::string_view::npos);
}

bool is_yaml_line(std::string_view line) {
  const Halves halves(line, ": ");
  int64_t id = 0;
  if (halves.left.empty() || !parse_count(halves.right, id)) return false;
  const bool quotes = halves.left[0] == '"' || halves.left[0] == '\'';
  return quotes || halves.left.find_first_of(" \t") == std::string_view::npos;
}

bool is_tab_line(std::string_view line) {
  const Halves halves(line, "\t");
  double number = 0;
  return !halves.left.empty() && halves.left.find_first_of(" \t") == std::string_view::npos &&
         parse_number(halves.right, number);
}

bool are_ids(std::span<const std::string> lines) {
  constexpr size_t kFewest = 3;  // fewer numbers can be counts
  for (size_t i = 0; i < lines.size(); ++i) {
    const Halves halves(lines[i], " ");
    int64_t id = 0;
    if (halves.left.empty() || halves.left.find_first_of(" \t") != std::string_view::npos ||
        !parse_count(halves.right, id) || id != static_cast<int64_t>(i))
      return false;
  }
  return lines.size() >= kFewest;
}

bool is_mark(std::string_view word, WordListKind kind) {
  constexpr std::array<std::string_view, 6> kMarks{"<s>",   "</s>",    "<unk>",
                                                   "<pad>", "<blank>", "<eps>"};
  int64_t number = 0;
  return std::find(kMarks.begin(), kMarks.end(), word) != kMarks.end() ||
         (kind == WordListKind::ids && word.starts_with('#') &&
          parse_count(word.substr(1), number));
}

// A number of `digits` hexadecimal digits behind \x, \u or \U.
bool parse_escape(std::string_view digits, size_t size, char32_t& code) {
  code = 0;
  if (digits.size() < size) return false;
  for (const char c : digits.substr(0, size)) {
    const size_t digit = std::string_view("0123456789abcdef").find(c | (c >= 'A' && c <= 'F') << 5);
    if (digit == std::string_view::npos) return false;
    code = code * 16 + static_cast<char32_t>(digit);
  }
  return code < 0x110000 && (code < 0xD800 || code > 0xDFFF);
}

// A key of YAML without its quotation marks; false where an escape is not known.
bool unquoted(std::string_view key, std::string& word) {
  word.clear();
  const char mark = key.front();
  if ((mark != '"' && mark != '\'') || key.size() < 2 || key.back() != mark) {
    word = key;
    return true;
  }
  key = key.substr(1, key.size() - 2);
  for (size_t at = 0; at < key.size(); ++at) {
    if (mark == '\'') {
      word += key[at];
      if (key[at] == '\'') ++at;  // two stand for one
      continue;
    }
    if (key[at] != '\\') {
      word += key[at];
      continue;
    }
    if (++at == key.size()) return false;
    constexpr std::string_view kLetters = "\"\\/", kCodes = "xuU";
    if (kLetters.find(key[at]) != std::string_view::npos) {
      word += key[at];
      continue;
    }
    const size_t code_size = size_t{2} << kCodes.find(key[at]) % 4;
    char32_t code = 0;
    if (kCodes.find(key[at]) == std::string_view::npos ||
        !parse_escape(key.substr(at + 1), code_size, code))
      return false;
    append_utf8(word, code);
    at += code_size;
  }
  return true;
}

std::vector<ListedWord> yaml_words(std::span<const std::string> lines, const std::string& path) {
  std::vector<ListedWord> words(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string place = concat(path, ", line ", i + 1);
    const Halves halves(lines[i], ": ");
    int64_t id = 0;
    parse_count(halves.right, id);
    require(id < std::ssize(lines), place, ": the id ", id, " in a vocabulary of ", lines.size(),
            " words; the ids of Marian's vocabulary are 0, 1, ... without a gap");
    ListedWord& word = words[static_cast<size_t>(id)];
    require(word.line == 0, place, ": the id ", id, " is that of line ", word.line, " already");
    word.line = static_cast<int64_t>(i) + 1;
    require(unquoted(halves.left, word.word) && !word.word.empty(), place, ": ", quote(halves.left),
            " is no word of Marian's vocabulary");
  }
  return words;
}

}  // namespace

WordListKind kind_of_list(std::span<const std::string> lines) {
  if (lines.empty()) return WordListKind::dict;
  if (is_json(lines)) return WordListKind::json;
  if (all_fit(lines, is_yaml_line)) return WordListKind::yaml;
  if (all_fit(lines, is_tab_line)) return WordListKind::tabs;
  if (are_ids(lines)) return WordListKind::ids;
  const auto is_word = [](std::string_view line) {
    return !line.empty() && line.find_first_of(" \t") == std::string_view::npos;
  };
  return all_fit(lines, is_word) ? WordListKind::words : WordListKind::dict;
}

std::string_view name_of(WordListKind kind) {
  switch (kind) {
    case WordListKind::dict:
      return "";
    case WordListKind::tabs:
      return "a vocabulary of OpenNMT or SentencePiece";
    case WordListKind::yaml:
      return "Marian's vocabulary";
    case WordListKind::ids:
      return "a list of words and their ids, as Kaldi's words.txt";
    case WordListKind::words:
      return "a list of words without counts";
    case WordListKind::json:
      return "JSON";
  }
  fail("[name_of] a kind without a name");
}

std::vector<ListedWord> listed_words(std::span<const std::string> lines, WordListKind kind,
                                     const std::string& path) {
  std::vector<ListedWord> words;
  if (kind == WordListKind::yaml) {
    words = yaml_words(lines, path);
  } else {
    for (const std::string& line : lines) {
      const Halves halves(line, kind == WordListKind::ids ? " " : "\t");
      ListedWord& word = words.emplace_back(std::string(halves.left), 1, std::ssize(words) + 1);
      int64_t count = 0;
      if (kind == WordListKind::tabs && parse_count(halves.right, count)) word.count = count;
    }
  }
  std::erase_if(words, [&](const ListedWord& w) { return is_mark(w.word, kind); });
  return words;
}

void refuse_json_vocabulary(const std::string& path) {
  fail(path,
       " is JSON, as Hugging Face's vocab.json and tokenizer.json, not a dictionary. `python3 -c "
       "\"import json; v = json.load(open('vocab.json')); print(*sorted(v, key=v.get), "
       "sep='\\n')\"` makes a list of words of a vocab.json, which is read; the text must be cut "
       "as that vocabulary's was");
}

}  // namespace nine
