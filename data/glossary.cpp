#include "data/glossary.h"

#include <algorithm>
#include <new>

#include "core/error.h"
#include "core/quote.h"
#include "data/pcre2_text.h"
#include "data/text.h"

namespace nine {

namespace {

constexpr size_t kMostCharacters = 4096;     // limits the time: a search may read the rest of a
                                             // word at each character
constexpr uint32_t kMostSteps = 1'000'000;   // most steps of a search; a usual search needs a few
                                             // steps for each character
constexpr uint32_t kMostKilobytes = 65'536;  // most memory for backtracking

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0u) != 0x80; }));
}

Pcre2Owned<pcre2_code> compiled(const std::string& glossary, std::string_view before,
                                std::string_view after) {
  const std::string pattern = concat(before, glossary, after);
  int error = 0;
  PCRE2_SIZE at = 0;
  Pcre2Owned<pcre2_code> code(
      ::pcre2_compile(pcre2_bytes(pattern), pattern.size(),
                      PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &at, nullptr),
      ::pcre2_code_free);
  if (code) return code;
  if (error == PCRE2_ERROR_HEAP_FAILED) throw std::bad_alloc();
  fail("the glossary ", quote(glossary), " is not a regular expression: ", pcre2_meaning(error),
       ", after character ", characters(std::string_view(pattern).substr(0, at)),
       "; put a backslash before characters such as ( and [ to match these characters");
}

Pcre2Owned<pcre2_match_context> bounded() {
  Pcre2Owned<pcre2_match_context> limits(::pcre2_match_context_create(nullptr),
                                         ::pcre2_match_context_free);
  if (!limits) throw std::bad_alloc();
  ::pcre2_set_match_limit(limits.get(), kMostSteps);
  ::pcre2_set_heap_limit(limits.get(), kMostKilobytes);
  return limits;
}

struct Range {
  size_t begin = 0, end = 0;
};

}  // namespace

struct Glossaries::Pattern {
  std::string text;
  bool plain;  // true if no character is special in regular expressions
  // Unless plain:
  Pcre2Owned<pcre2_code> inside{nullptr, ::pcre2_code_free}, whole = {nullptr, ::pcre2_code_free};
  Pcre2Owned<pcre2_match_context> limits{nullptr, ::pcre2_match_context_free};

  explicit Pattern(const std::string& pattern)
      : text(pattern), plain(pattern.find_first_of("\\^$.|?*+()[]{}") == std::string::npos) {
    require(!pattern.empty(), "a glossary is empty: give a word or a regular expression");
    require(find_invalid_utf8(pattern) == std::string_view::npos, "the glossary ", quote(pattern),
            " is not valid UTF-8, so no word could match it");
    if (plain) return;
    limits = bounded();
    inside = compiled(pattern, "", "");
    // Joined as in subword-nmt: in a|b the ^ belongs to a and the $ to b.
    whole = compiled(pattern, "^", "$");
    uint32_t may_be_empty = 0;
    ::pcre2_pattern_info(inside.get(), PCRE2_INFO_MATCHEMPTY, &may_be_empty);
    require(may_be_empty == 0, "the glossary ", quote(pattern),
            " matches the empty text: write it so that each match has a character; words would "
            "be cut where it is empty");
  }

  // Sets `found` to the first match in `word` from a byte on. Returns false if there is no match.
  bool find(const Pcre2Owned<pcre2_code>& code, const std::string& word, size_t from,
            uint32_t options, Range& found) const {
    const Pcre2Owned<pcre2_match_data> data(
        ::pcre2_match_data_create_from_pattern(code.get(), nullptr), ::pcre2_match_data_free);
    if (!data) throw std::bad_alloc();
    const int result = ::pcre2_match(code.get(), pcre2_bytes(word), word.size(), from, options,
                                     data.get(), limits.get());
    if (result == PCRE2_ERROR_NOMATCH) return false;
    if (result == PCRE2_ERROR_NOMEMORY) throw std::bad_alloc();
    require(result != PCRE2_ERROR_MATCHLIMIT && result != PCRE2_ERROR_HEAPLIMIT, "the glossary ",
            quote(text), " needs more than ", kMostSteps, " steps for the word ", quote(word),
            ": write it without a repetition of a repetition, such as (a+)+");
    require(result >= 0, "the glossary ", quote(text), " cannot be looked for in ", quote(word),
            ": ", pcre2_meaning(result));
    const PCRE2_SIZE* const ends = ::pcre2_get_ovector_pointer(data.get());
    found = {ends[0], ends[1]};
    return true;
  }

  bool is_all(const std::string& word) const {
    Range found;
    return find(inside, word, 0, PCRE2_ANCHORED | PCRE2_ENDANCHORED, found);
  }

  bool holds(const std::string& word) const {
    if (plain) return word == text;
    require_short(word);
    return is_all(word);
  }

  void require_short(const std::string& word) const {
    const size_t size = word.size() <= kMostCharacters ? word.size() : characters(word);
    require(size <= kMostCharacters, "a word of ", size,
            " characters is too long to search for the glossary ", quote(text),
            ": the limit of regular expressions is ", kMostCharacters);
  }

  // Calls f(begin, end) for each match that is not empty.
  template <class F>
  void for_each(const std::string& word, F&& f) const {
    if (plain) {
      for (size_t at = word.find(text); at != std::string::npos; at = word.find(text, at)) {
        f(at, at + text.size());
        at += text.size();
      }
      return;
    }
    for (Range match; find(inside, word, match.end, PCRE2_NOTEMPTY, match);)
      f(match.begin, match.end);
  }

  void cut(const std::string& word, std::vector<std::string>& out) const {
    if (!plain) require_short(word);
    Range all;
    if (plain ? word == text : find(whole, word, 0, PCRE2_ANCHORED, all))
      return out.push_back(word);
    size_t done = 0;
    for_each(word, [&](size_t begin, size_t end) {
      if (begin > done) out.push_back(word.substr(done, begin - done));
      out.push_back(word.substr(begin, end - begin));
      done = end;
    });
    if (done < word.size()) out.push_back(word.substr(done));
  }
};

Glossaries::Glossaries(const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns)
    patterns_.push_back(std::make_shared<const Pattern>(pattern));
}

bool Glossaries::holds(std::string_view text) const {
  const std::string word(text);
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [&](const auto& pattern) { return pattern->holds(word); });
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
