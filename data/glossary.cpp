#include "data/glossary.h"

#include <algorithm>
#include <regex>

#include "core/error.h"
#include "core/quote.h"
#include "data/unicode.h"

namespace nine {

namespace {

constexpr size_t kMostCharacters = 4096;  // std::regex needs stack for each character

using Wide = std::wstring;  // a code point each: wchar_t has 32 bits

Wide widened(std::string_view text) {
  const std::u32string codes = code_points(text);
  return {codes.begin(), codes.end()};
}

/// The byte at which character number `index` of a text starts.
size_t byte_of(std::string_view text, size_t index) {
  size_t at = 0;
  for (; index > 0; --index) at += utf8_length(text[at]);
  return at;
}

std::wregex compiled(const std::string& pattern, std::string_view before, std::string_view after) {
  try {
    return std::wregex(widened(concat(before, pattern, after)));
  } catch (const std::regex_error& e) {
    fail("the glossary ", quote(pattern), " is not a regular expression (", e.what(),
         "): put a backslash before characters such as ( and [ that are meant as such");
  }
}

}  // namespace

struct Glossaries::Pattern {
  std::string text;
  bool plain;                 // has no character that is special in regular expressions
  std::wregex whole, inside;  // unless plain

  explicit Pattern(const std::string& pattern)
      : text(pattern), plain(pattern.find_first_of("\\^$.|?*+()[]{}") == std::string::npos) {
    require(!pattern.empty(), "a glossary is empty: give a word or a regular expression");
    if (plain) return;
    // Joined as subword-nmt does it: in a|b the ^ belongs to a and the $ to b.
    whole = compiled(pattern, "^", "$");
    inside = compiled(pattern, "", "");
    require(!std::regex_match(Wide(), inside), "the glossary ", quote(pattern),
            " matches the empty text: every word would be cut everywhere");
  }

  bool is_whole(const std::string& word, const Wide& wide) const {
    return plain ? word == text
                 : std::regex_search(wide, whole, std::regex_constants::match_continuous);
  }

  // The characters of a word that is to be searched.
  Wide searched(std::string_view word) const {
    if (plain) return {};
    Wide wide = widened(word);
    require(wide.size() <= kMostCharacters, "a word of ", wide.size(),
            " characters is too long to search for the glossary ", quote(text),
            ": the limit of regular expressions is ", kMostCharacters);
    return wide;
  }

  void cut(const std::string& word, std::vector<std::string>& out) const {
    const Wide wide = searched(word);
    if (is_whole(word, wide)) return out.push_back(word);
    size_t done = 0;
    const auto found = [&](size_t begin, size_t end) {
      if (begin > done) out.push_back(word.substr(done, begin - done));
      out.push_back(word.substr(begin, end - begin));
      done = end;
    };
    if (plain) {
      for (size_t at = word.find(text); at != std::string::npos; at = word.find(text, done))
        found(at, at + text.size());
    } else {
      for (std::wsregex_iterator match(wide.begin(), wide.end(), inside), last; match != last;
           ++match) {
        const auto begin = static_cast<size_t>(match->position());
        if (match->length() > 0)
          found(byte_of(word, begin), byte_of(word, begin + static_cast<size_t>(match->length())));
      }
    }
    if (done < word.size()) out.push_back(word.substr(done));
  }
};

Glossaries::Glossaries(const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns)
    patterns_.push_back(std::make_shared<const Pattern>(pattern));
}

bool Glossaries::holds(std::string_view text) const {
  const std::string word(text);
  const auto matches = [&](const auto& p) {
    return p->plain ? word == p->text : std::regex_match(p->searched(word), p->inside);
  };
  return std::any_of(patterns_.begin(), patterns_.end(), matches);
}

std::vector<std::string> Glossaries::isolate(std::string_view word) const {
  std::vector<std::string> parts{std::string(word)};
  for (const auto& pattern : patterns_) {
    std::vector<std::string> cut;
    for (const std::string& part : parts) pattern->cut(part, cut);
    parts = std::move(cut);
  }
  return parts;
}

}  // namespace nine
