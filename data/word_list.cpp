#include "data/word_list.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/quote.h"
#include "data/text.h"
#include "data/unicode.h"

namespace nine {
namespace {

// A line, split at its last `separator`. Without a separator, the whole line is the first part.
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

void skip_json_space(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

// Removes a string of JSON, which has no line end inside, from the front of a text.
bool take_json_string(std::string_view& text) {
  if (!text.starts_with('"')) return false;
  for (size_t at = 1; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      text.remove_prefix(at + 1);
      return true;
    }
  }
  return false;
}

// Joins the first lines of a list, as many as are needed to see whether it is JSON.
std::string start_of(std::span<const std::string> lines) {
  constexpr size_t kMost = size_t{64} << 10;
  std::string text;
  for (size_t i = 0; i < lines.size() && text.size() < kMost; ++i)
    text += lines[i].substr(0, kMost) + '\n';
  return text;
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

// Parses a line `word id`, separated by spaces or tabs, as Kaldi and OpenFst write it.
bool parse_id_line(std::string_view line, std::string_view& word, int64_t& id) {
  int fields = 0;
  std::string_view last;
  for_each_word(line, [&](std::string_view field) {
    if (++fields == 1) word = field;
    last = field;
  });
  return fields == 2 && parse_count(last, id);
}

bool are_ids(std::span<const std::string> lines) {
  constexpr size_t kFewest = 3;  // fewer numbers than these may be counts
  std::vector<int64_t> ids;
  bool has_epsilon = false;  // Kaldi lists <eps> first, and no text has it
  for (const std::string& line : lines) {
    std::string_view word;
    int64_t id = 0;
    if (!parse_id_line(line, word, id)) return false;
    has_epsilon = has_epsilon || (word == "<eps>" && id == 0);
    ids.push_back(id);
  }
  if (has_epsilon) return true;
  // Counts usually fall from line to line, and there are other small counts besides 0.
  if (ids.size() < kFewest || std::is_sorted(ids.rbegin(), ids.rend())) return false;
  std::sort(ids.begin(), ids.end());
  return ids[0] == 0 && std::adjacent_find(ids.begin(), ids.end()) == ids.end();
}

bool is_mark(std::string_view word, WordListKind kind) {
  constexpr std::array<std::string_view, 6> kMarks{"<s>",   "</s>",    "<unk>",
                                                   "<pad>", "<blank>", "<eps>"};
  int64_t number = 0;
  return std::find(kMarks.begin(), kMarks.end(), word) != kMarks.end() ||
         (kind == WordListKind::ids && word.starts_with('#') &&
          parse_count(word.substr(1), number));
}

// Reads a number of `digits` hexadecimal digits after \x, \u or \U.
bool parse_escape(std::string_view digits, size_t size, char32_t& code) {
  code = 0;
  if (digits.size() < size) return false;
  for (const char c : digits.substr(0, size)) {
    const char lower = c >= 'A' && c <= 'F' ? static_cast<char>(c + ('a' - 'A')) : c;
    const size_t digit = std::string_view("0123456789abcdef").find(lower);
    if (digit == std::string_view::npos) return false;
    code = code * 16 + static_cast<char32_t>(digit);
  }
  return code < 0x110000 && (code < 0xD800 || code > 0xDFFF);
}

// Reads a key of YAML without its quotation marks. Returns false if an escape is not known.
bool unquoted(std::string_view key, std::string& word) {
  word.clear();
  const char mark = key.front();
  if (mark != '"' && mark != '\'') {
    word = key;
    return true;
  }
  if (key.size() < 2 || key.back() != mark) return false;
  key = key.substr(1, key.size() - 2);
  for (size_t at = 0; at < key.size(); ++at) {
    if (mark == '\'') {
      word += key[at];
      if (key[at] == '\'') ++at;  // two quotation marks stand for one
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

}  // namespace

bool is_json(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  skip_json_space(text);
  const bool list = text.starts_with('[');
  while (text.starts_with('[')) {
    text.remove_prefix(1);
    skip_json_space(text);
  }
  const bool object = text.starts_with('{');
  if (object) {
    text.remove_prefix(1);
    skip_json_space(text);
  }
  if (!(list || object) || !take_json_string(text)) return false;
  skip_json_space(text);
  return object ? text.starts_with(':') : text.starts_with(',') || text.starts_with(']');
}

WordListKind kind_of_list(std::span<const std::string> lines) {
  if (lines.empty()) return WordListKind::dict;
  if (is_json(start_of(lines))) return WordListKind::json;
  if (all_fit(lines, is_yaml_line)) return WordListKind::yaml;
  if (are_ids(lines)) return WordListKind::ids;
  if (all_fit(lines, is_tab_line)) return WordListKind::tabs;
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

std::vector<ListedWord> numbered_words(std::span<const std::string> lines, WordListKind kind,
                                       const std::string& path) {
  const bool yaml = kind == WordListKind::yaml;
  std::vector<ListedWord> words(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string place = concat(path, ", line ", i + 1);
    std::string_view key;
    int64_t id = 0;
    if (yaml) {
      const Halves halves(lines[i], ": ");
      key = halves.left;
      while (key.ends_with(' ')) key.remove_suffix(1);  // YAML allows blanks before the colon
      parse_count(halves.right, id);
    } else {
      parse_id_line(lines[i], key, id);
    }
    require(id < std::ssize(lines), place, ": the id ", id, " in a vocabulary of ", lines.size(),
            " words; the ids of ", yaml ? "Marian's vocabulary" : "Kaldi's words.txt",
            " are 0, 1, ... without a gap");
    ListedWord& word = words[static_cast<size_t>(id)];
    require(word.line == 0, place, ": the id ", id, " is that of line ", word.line,
            " already; ids must differ");
    word.line = static_cast<int64_t>(i) + 1;
    if (!yaml) word.word = key;
    require(!yaml || (unquoted(key, word.word) && !word.word.empty()), place, ": ", quote(key),
            " is not a word of Marian's vocabulary");
  }
  return words;
}

std::vector<ListedWord> listed_words(std::span<const std::string> lines, WordListKind kind,
                                     const std::string& path) {
  std::vector<ListedWord> words;
  if (kind == WordListKind::yaml || kind == WordListKind::ids) {
    words = numbered_words(lines, kind, path);
  } else {
    for (const std::string& line : lines) {
      const Halves halves(line, "\t");
      ListedWord& word =
          words.emplace_back(ListedWord{std::string(halves.left), 1, std::ssize(words) + 1});
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
