// The named splits without PCRE2's search. PCRE2 says the class of each character, and the rest of
// the patterns is written out here.
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "data/tokenizers/split_pattern.h"
#include "data/unicode.h"

namespace nine {

namespace {

// The classes of characters that the patterns tell apart: \p{L}, \p{N}, White_Space without CR and
// LF, CR and LF, all others. `end` stands for the end of a text.
enum class CharacterClass : uint8_t { other, letter, number, white_space, line_end, end };

constexpr char32_t kCodes = 0x110000;
constexpr size_t kPage = 256;  // code points whose classes are made together
using Page = std::array<CharacterClass, kPage>;

constexpr std::array<CharacterClass, 128> kAscii = [] {
  std::array<CharacterClass, 128> kinds{};
  const auto set = [&](std::string_view characters, CharacterClass kind) {
    for (const char c : characters) kinds[static_cast<unsigned char>(c)] = kind;
  };
  set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", CharacterClass::letter);
  set("0123456789", CharacterClass::number);
  set(" \t\v\f", CharacterClass::white_space);
  set("\n\r", CharacterClass::line_end);
  return kinds;
}();

// The classes of all code points. A page is made when a text first has one of its characters.
constinit std::array<std::atomic<const Page*>, kCodes / kPage> pages{};

// Makes pages. PCRE2 says the class of each character.
class PageMaker {
 public:
  const Page* make(size_t number) {
    const std::scoped_lock lock(making_);
    if (const Page* page = pages[number].load(std::memory_order_acquire)) return page;
    std::string text;
    std::vector<size_t> in_page;  // by byte of `text`
    for (size_t i = 0; i < kPage; ++i) {
      const auto code = static_cast<char32_t>(number * kPage + i);
      if (code >= 0xD800 && code <= 0xDFFF) continue;  // surrogates are not in valid text
      append_utf8(text, code);
      in_page.resize(text.size(), i);
    }
    Page& page = made_.emplace_back();
    const auto mark = [&](const SplitPattern& pattern, CharacterClass kind) {
      pattern.for_each(text, [&](size_t begin, size_t) { page[in_page[begin]] = kind; });
    };
    mark(letter_, CharacterClass::letter);
    mark(number_, CharacterClass::number);
    mark(white_space_, CharacterClass::white_space);
    mark(line_end_, CharacterClass::line_end);
    pages[number].store(&page, std::memory_order_release);
    return &page;
  }

 private:
  const SplitPattern letter_{R"(\p{L})"}, number_{R"(\p{N})"}, white_space_{R"(\s)"},
      line_end_{R"([\r\n])"};
  std::mutex making_;
  std::deque<Page> made_;
};

const Page* make_page(size_t number) {
  static PageMaker maker;
  return maker.make(number);
}

inline CharacterClass class_of(uint32_t code) {
  const Page* page = pages[code / kPage].load(std::memory_order_acquire);
  if (page == nullptr) [[unlikely]]
    page = make_page(code / kPage);
  return (*page)[code % kPage];
}

struct Character {
  CharacterClass kind;
  uint8_t bytes;
};

inline Character wide_character_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return uint32_t{static_cast<uint8_t>(text[at + i])}; };
  const auto tail = [&](size_t i) { return byte(i) & 0x3F; };
  const uint32_t lead = byte(0);
  if (lead < 0xE0) return {class_of((lead & 0x1F) << 6 | tail(1)), 2};
  if (lead < 0xF0) return {class_of((lead & 0x0F) << 12 | tail(1) << 6 | tail(2)), 3};
  return {class_of((lead & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3)), 4};
}

inline Character character_at(std::string_view text, size_t at) {
  if (at >= text.size()) return {CharacterClass::end, 0};
  const auto byte = static_cast<uint8_t>(text[at]);
  return byte < kAscii.size() ? Character{kAscii[byte], 1} : wide_character_at(text, at);
}

inline bool is_space(CharacterClass kind) {
  return kind == CharacterClass::white_space || kind == CharacterClass::line_end;
}

// Returns the end of the run of ASCII letters that goes on at `at`, or a place in it. It looks at
// eight bytes at once, because the end of a loop over bytes is often predicted wrong.
inline size_t ascii_letters_end(std::string_view text, size_t at) {
  const auto all = [](uint64_t byte) { return byte * 0x0101'0101'0101'0101; };
  for (uint64_t bytes = 0; at + sizeof bytes <= text.size();) {
    std::memcpy(&bytes, text.data() + at, sizeof bytes);
    const uint64_t lower = (bytes | all(0x20)) & all(0x7F);
    // Bit 7 of each byte.
    const uint64_t from_a = lower + all(0x80 - 'a'), behind_z = lower + all(0x7F - 'z');
    const uint64_t others = ~(from_a & ~behind_z & ~bytes) & all(0x80);
    if (others != 0) return at + static_cast<size_t>(std::countr_zero(others)) / 8;
    at += sizeof bytes;
  }
  return at;
}

// Returns the end of the run of a class that goes on at `at`.
inline size_t run_end(std::string_view text, size_t at, CharacterClass kind) {
  if (kind == CharacterClass::letter) at = ascii_letters_end(text, at);
  for (Character c = character_at(text, at); c.kind == kind; c = character_at(text, at))
    at += c.bytes;
  return at;
}

// Returns the number of bytes of 's, 't, 're, 've, 'm, 'll or 'd at `at`, or 0.
size_t contraction(std::string_view text, size_t at, bool any_case) {
  if (text[at] != '\'') return 0;
  std::string_view rest = text.substr(at + 1, 2);
  if (any_case && rest == "\u017F") return 3;  // the long s, which is an s of another case
  const auto lower = [&](size_t i) {
    const char c = i < rest.size() ? rest[i] : '\0';
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  const char first = lower(0), second = lower(1);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  return ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l') ? 3
                                                                                              : 0;
}

// Returns the end of a piece of white space: the last character of a run stays with what follows.
size_t white_space_end(std::string_view text, size_t begin) {
  size_t at = begin, last = begin;
  for (Character c = character_at(text, at); is_space(c.kind); c = character_at(text, at)) {
    last = at;
    at += c.bytes;
  }
  return at == text.size() || last == begin ? at : last;
}

size_t gpt2_end(std::string_view text, size_t begin) {
  if (const size_t bytes = contraction(text, begin, false)) return begin + bytes;
  size_t at = begin;
  Character c = character_at(text, at);
  if (text[begin] == ' ') {
    const Character next = character_at(text, begin + 1);
    if (next.kind != CharacterClass::end && !is_space(next.kind)) {
      c = next;
      ++at;
    }
  }
  return is_space(c.kind) ? white_space_end(text, begin) : run_end(text, at + c.bytes, c.kind);
}

size_t gpt4_end(std::string_view text, size_t begin) {
  if (const size_t bytes = contraction(text, begin, true)) return begin + bytes;
  const Character c = character_at(text, begin);
  size_t after = begin + c.bytes;
  if (c.kind == CharacterClass::letter) return run_end(text, after, CharacterClass::letter);
  if (c.kind == CharacterClass::number) {
    for (int more = 0; more < 2; ++more) {
      const Character next = character_at(text, after);
      if (next.kind != CharacterClass::number) break;
      after += next.bytes;
    }
    return after;
  }
  if (c.kind != CharacterClass::line_end) {
    const Character next = character_at(text, after);
    if (next.kind == CharacterClass::letter)
      return run_end(text, after + next.bytes, CharacterClass::letter);
    if (c.kind == CharacterClass::other ||
        (text[begin] == ' ' && next.kind == CharacterClass::other))
      return run_end(text, run_end(text, after, CharacterClass::other), CharacterClass::line_end);
  }
  size_t line_end = 0;  // behind the last line end of a run of white space
  size_t at = begin;
  for (Character space = c; is_space(space.kind); space = character_at(text, at)) {
    at += space.bytes;
    if (space.kind == CharacterClass::line_end) line_end = at;
  }
  return line_end > 0 ? line_end : white_space_end(text, begin);
}

}  // namespace

size_t piece_end(Split split, std::string_view text, size_t begin) {
  return split == Split::gpt2 ? gpt2_end(text, begin) : gpt4_end(text, begin);
}

}  // namespace nine
