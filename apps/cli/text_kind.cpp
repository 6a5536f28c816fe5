#include "apps/cli/text_kind.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "data/bpe.h"
#include "data/text.h"
#include "data/trim.h"

namespace nine::app {
namespace {

using Words = std::vector<std::string_view>;

// Fewer lines may have a form by chance.
constexpr std::ptrdiff_t kFewLines = 3;

bool is_count(std::string_view text) {
  int64_t count = 0;
  return parse_count(text, count);
}

bool is_number(std::string_view text) {
  double number = 0;
  return parse_number(text, number);
}

bool is_json(const Json& value) { return value.is_object() || value.is_array(); }

Json parsed(const std::string& text) {
  try {
    return parse_json(text);
  } catch (const Error&) {
    return nullptr;
  }
}

bool begins_as_json(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t");
  return begin != std::string_view::npos && (line[begin] == '{' || line[begin] == '[');
}

// True for one object or array in all lines, or one on each line. `lines` are not empty.
bool is_json(const std::vector<std::string_view>& lines) {
  if (!begins_as_json(lines.front())) return false;
  if (is_json(parsed(std::string(lines.front()))))
    return std::ranges::all_of(
        lines, [](std::string_view line) { return is_json(parsed(std::string(line))); });
  std::string whole;
  for (const std::string_view line : lines) whole.append(line).append("\n");
  return is_json(parsed(whole));
}

// Whether a line begins with a tag or a declaration of this name, in any case.
bool begins_with_tag(std::string_view line, std::string_view name) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  if (line.size() <= name.size() || !std::ranges::equal(line.substr(0, name.size()), name, same))
    return false;
  return line[name.size()] == '>' || line[name.size()] == ' ';
}

// Whether a line is a tag, or begins with a tag and ends with one that closes. "<start> the cat
// <end>" is no such line.
bool is_tagged(std::string_view line) {
  line = trimmed(line);
  if (line.size() < 3 || line.front() != '<' || line.back() != '>') return false;
  const size_t last = line.rfind('<');
  const bool closes = line[last + 1] == '/' || line[line.size() - 2] == '/';
  return last == 0 || (closes && !line.starts_with("<s>"));
}

// Whether a word is a marker of another program: it stands between angle brackets and is no special
// word of Nine's.
bool is_marker(std::string_view word) {
  if (word == "[CLS]" || word == "[SEP]") return true;  // of BERT
  return word.size() > 2 && word.front() == '<' && word.back() == '>' && word != "<s>" &&
         word != "</s>" && word != "<unk>" && word != "<pad>";
}

// A form of lines: its name, and whether a line has it, given the line and its words.
struct Form {
  std::string name;
  std::function<bool(std::string_view line, const Words& words)> has;
};

std::vector<Form> forms(std::string_view first_line) {
  const auto tabs = std::ranges::count(first_line, '\t');
  const auto seen = std::make_shared<std::unordered_set<std::string_view>>();
  Words of_first;
  split_words(first_line, of_first);
  const std::string first_word(of_first.front()), last_word(of_first.back());
  return {
      {"a dictionary (each line `word count`)",
       [seen](std::string_view, const Words& words) {
         const bool repeated = words.size() == 3 && words[2] == "#fairseq:overwrite";
         return (words.size() == 2 || repeated) && is_count(words[1]) &&
                (seen->insert(words[0]).second || repeated);
       }},
      {concat("a table (", tabs, tabs == 1 ? " tab" : " tabs", " on each line)"),
       [tabs](std::string_view line, const Words&) {
         return tabs > 0 && std::ranges::count(line, '\t') == tabs && line.front() != '\t';
       }},
      {"a parallel text (each line `source ||| target`)",
       [](std::string_view line, const Words&) {
         const size_t bar = line.find(" ||| ");
         return bar != std::string_view::npos && bar > 0 && bar + 5 < line.size();
       }},
      {"an n-best list (each line `utterance-N score words`)",
       [](std::string_view, const Words& words) {
         const size_t dash = words[0].rfind('-');
         return words.size() >= 2 && dash != std::string_view::npos && dash > 0 &&
                is_count(words[0].substr(dash + 1)) && is_number(words[1]);
       }},
      {"an n-best list (each line `utterance score score number words`)",
       [](std::string_view, const Words& words) {
         constexpr int64_t kEnds = 2;  // SRILM may count <s> and </s>
         int64_t count = 0;
         return words.size() >= 4 && is_number(words[1]) && is_number(words[2]) &&
                parse_count(words[3], count) && std::abs(count - (std::ssize(words) - 4)) <= kEnds;
       }},
      {concat("sentences between the markers ", first_word, " and ", last_word),
       [first_word, last_word](std::string_view, const Words& words) {
         return words.size() >= 2 && words.front() == first_word && words.back() == last_word &&
                is_marker(first_word) && is_marker(last_word);
       }},
      {concat("sentences that end with the marker ", last_word),
       [last_word](std::string_view, const Words& words) {
         return words.back() == last_word && is_marker(last_word);
       }},
      {"a .trn file (each line `words (utterance)`)",
       [](std::string_view, const Words& words) {
         const std::string_view last = words.back();
         return last.size() > 2 && last.front() == '(' && last.back() == ')' &&
                last.find_first_of("_-0123456789") != std::string_view::npos;
       }},
  };
}

}  // namespace

bool is_markup(std::span<const std::string> lines) {
  // Roots of HTML and of the files in which WMT's texts and memories of translations come.
  constexpr std::array kRoots = {"<?xml",   "<!doctype", "<html", "<srcset",  "<refset",
                                 "<tstset", "<mteval",   "<doc",  "<dataset", "<tmx"};
  const auto first =
      std::ranges::find_if(lines, [](const std::string& line) { return !trimmed(line).empty(); });
  return first != lines.end() && std::ranges::any_of(kRoots, [&](const char* root) {
           return begins_with_tag(trimmed(*first), root);
         });
}

std::string other_kind(std::span<const std::string> all) {
  std::vector<std::string_view> lines;  // that have words
  for (const std::string& line : all)
    if (line.find_first_not_of(" \t") != std::string::npos) lines.emplace_back(line);
  if (lines.empty()) return "";
  // A text may have a line between the tags, so not every line needs them.
  constexpr std::ptrdiff_t kOf = 10, kTagged = 9;
  if (is_markup(all) ||
      (std::ssize(lines) >= kFewLines &&
       kOf * std::ranges::count_if(lines, is_tagged) >= kTagged * std::ssize(lines)))
    return "HTML, XML or SGML";
  if (is_json(lines)) return "JSON";
  if (lines.front().starts_with("#version:")) return "codes of BPE";
  if (std::ssize(lines) < kFewLines) return "";
  std::vector<Form> left = forms(lines.front());
  Words words;
  for (const std::string_view line : lines) {
    split_words(line, words);
    std::erase_if(left, [&](const Form& form) { return !form.has(line, words); });
    if (left.empty()) return "";
  }
  return left.front().name;
}

void warn_of_other_kind(std::span<const std::string> lines, std::string_view text) {
  const std::string kind = other_kind(lines);
  if (kind.empty()) return;
  std::fputs((other_kind_text(kind, text) + '\n').c_str(), stderr);
}

std::string other_kind_text(std::string_view kind, std::string_view text) {
  return concat("warning: ", text, " looks like ", kind,
                ", and all of it is read as words: if only a part is text, give this part alone");
}

void warn_of_subwords(std::span<const std::string> a, std::string_view name_a,
                      std::span<const std::string> b, std::string_view name_b) {
  if (const std::string message = subword_warning(a, name_a, b, name_b); !message.empty())
    std::fprintf(stderr, "warning: %s\n", message.c_str());
}

void warn_of_joints(int64_t joints, std::string_view separator, std::string_view text) {
  if (joints > 0)
    std::fprintf(stderr, "%s\n",
                 concat("warning: ", joints, " words of ", text, " end with ", separator,
                        ", as if it had been cut into subwords already; bpe undo joins subwords")
                     .c_str());
}

}  // namespace nine::app
