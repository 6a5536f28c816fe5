#include "data/tokenizers/normalizer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/quote.h"
#include "data/tokenizers/json_parts.h"
#include "data/unicode.h"

namespace nine {

namespace {

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64(std::string_view bytes) {
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k)
      three = three << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k)
      out += i + k > bytes.size() ? '=' : kDigits[three >> (18 - 6 * k) & 63];
  }
  return out;
}

bool read_base64(std::string_view text, std::string& bytes) {
  static const auto values = [] {
    std::array<int8_t, 256> table{};
    table.fill(-1);
    for (int i = 0; i < 64; ++i) table[static_cast<uint8_t>(kDigits[i])] = static_cast<int8_t>(i);
    return table;
  }();
  bytes.clear();
  if (text.size() % 4 != 0) return false;
  for (size_t i = 0; i < text.size(); i += 4) {
    size_t padding = 0;
    if (i + 4 == text.size()) padding = text[i + 3] != '=' ? 0 : text[i + 2] != '=' ? 1 : 2;
    uint32_t three = 0;
    for (size_t k = 0; k < 4; ++k) {
      const int value = k >= 4 - padding ? 0 : values[static_cast<uint8_t>(text[i + k])];
      if (value < 0) return false;
      three = three << 6 | static_cast<uint32_t>(value);
    }
    for (size_t k = 0; k < 3 - padding; ++k) bytes += static_cast<char>(three >> (16 - 8 * k));
  }
  return true;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  size_t at = text.find(from);
  if (at == std::string::npos) return;
  std::string out;
  size_t done = 0;
  for (; at != std::string::npos; at = text.find(from, done)) {
    out.append(text, done, at - done);
    out += to;
    done = at + from.size();
  }
  out.append(text, done);
  text = std::move(out);
}

CharactersMap::CharactersMap(std::string_view map) {
  if (map.empty()) return;
  uint32_t bytes = 0;
  require(map.size() >= sizeof bytes, "the table of replacements has only ", map.size(), " bytes");
  std::memcpy(&bytes, map.data(), sizeof bytes);
  require(bytes % sizeof(uint32_t) == 0 && bytes > 0 && bytes <= map.size() - sizeof bytes,
          "the trie of the table of replacements has ", bytes, " bytes, and the table has ",
          map.size());
  units_.resize(bytes / sizeof(uint32_t));
  std::memcpy(units_.data(), map.data() + sizeof bytes, bytes);
  texts_ = map.substr(sizeof bytes + bytes);
  texts_ += '\0';
}

std::string CharactersMap::bytes() const {
  if (empty()) return {};
  const auto size = static_cast<uint32_t>(units_.size() * sizeof units_[0]);
  std::string map(sizeof size, '\0');
  std::memcpy(map.data(), &size, sizeof size);
  map.append(reinterpret_cast<const char*>(units_.data()), size);
  return map.append(texts_, 0, texts_.size() - 1);
}

// A unit of Darts-clone's double array: bit 31 marks a value; bits 0-7 are the byte that leads to
// the unit; bit 8 says that a value follows; bits 10-30, shifted by bit 9, are the link.
size_t CharactersMap::find(std::string_view text, bool longest,
                           std::string_view& replacement) const {
  if (units_.empty()) return 0;
  const auto link = [](uint32_t unit) {
    return static_cast<size_t>(unit >> 10) << ((unit & (1U << 9)) >> 6);
  };
  size_t found = 0;
  size_t at = link(units_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    at ^= byte;
    if (byte == 0 || at >= units_.size()) break;
    const uint32_t unit = units_[at];
    if ((unit & (1U << 31 | 0xFFU)) != byte) break;
    at ^= link(unit);
    if ((unit >> 8 & 1U) == 0) continue;
    if (at >= units_.size()) break;
    const size_t value = units_[at] & ((1U << 31) - 1);
    require(value < texts_.size(), "the table of replacements leads to byte ", value,
            ", and it has ", texts_.size());
    found = i + 1;
    replacement = texts_.c_str() + value;
    if (!longest) break;
  }
  return found;
}

Normalizer::Normalizer(const Json& part) { add(part, 0); }

void Normalizer::add(const Json& part, int depth) {
  if (part.is_null()) return;
  require(depth < kTokenizerLevels, "the normalizer has more than ", kTokenizerLevels, " levels");
  const std::string type = part_type(part, "normalizer");
  if (type == "Sequence") {
    check_members(part, "normalizer Sequence", {"normalizers"});
    for (const Json& one : array_member(part, "normalizers")) add(one, depth + 1);
  } else if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
    require(has_unicode_forms(), "the tokenizer normalises text (", type,
            "), and this copy of Nine was built without utf8proc: install libutf8proc-dev and "
            "build Nine again");
    steps_.emplace_back(type == "NFC"    ? UnicodeForm::nfc
                        : type == "NFD"  ? UnicodeForm::nfd
                        : type == "NFKC" ? UnicodeForm::nfkc
                                         : UnicodeForm::nfkd);
  } else if (type == "Prepend") {
    check_members(part, "normalizer Prepend", {"prepend"});
    steps_.emplace_back(Prepend{text_member(part, "prepend")});
  } else if (type == "Replace") {
    check_members(part, "normalizer Replace", {"pattern", "content"});
    Replace step;
    if (read_pattern(part, step.from)) step.pattern = std::make_shared<SplitPattern>(step.from);
    require(!step.from.empty(), "the normalizer Replace has an empty pattern");
    step.to = text_member(part, "content");
    steps_.emplace_back(std::move(step));
  } else if (type == "Strip") {
    check_members(part, "normalizer Strip", {"strip_left", "strip_right"});
    steps_.emplace_back(
        Strip{bool_member(part, "strip_left", true), bool_member(part, "strip_right", true)});
  } else if (type == "Precompiled") {
    check_members(part, "normalizer Precompiled", {"precompiled_charsmap"});
    std::string bytes;
    require(read_base64(text_member(part, "precompiled_charsmap", ""), bytes),
            "the precompiled_charsmap is not base64");
    steps_.emplace_back(Precompiled{std::make_shared<CharactersMap>(bytes)});
  } else {
    fail("the normalizer ", quote(type),
         " is of a type that Nine does not know; it knows NFC, "
         "NFD, NFKC, NFKD, Precompiled, Prepend, Replace, Sequence and Strip");
  }
}

void Normalizer::apply(std::string& text) const {
  for (const Step& step : steps_) std::visit([&](const auto& one) { run(one, text); }, step);
}

void Normalizer::run(const Prepend& step, std::string& text) {
  if (!text.empty()) text.insert(0, step.text);
}

void Normalizer::run(const Replace& step, std::string& text) {
  if (!step.pattern) return replace_all(text, step.from, step.to);
  std::string out;
  for_each_validity(text, [&](std::string_view part, bool valid) {
    size_t done = 0;
    if (valid)
      step.pattern->for_each(part, [&](size_t begin, size_t end) {
        out += part.substr(done, begin - done);
        out += step.to;
        done = end;
      });
    out += part.substr(done);
  });
  text = std::move(out);
}

void Normalizer::run(const Strip& step, std::string& text) {
  std::string_view kept = text;
  while (step.left && white_space_at_start(kept) > 0)
    kept.remove_prefix(white_space_at_start(kept));
  while (step.right && white_space_at_end(kept) > 0) kept.remove_suffix(white_space_at_end(kept));
  text = std::string(kept);
}

// As Hugging Face tokenizers does it: a grapheme of less than six bytes is looked up as a whole,
// each character of another alone, and the shortest start that has a replacement counts.
void Normalizer::run(const Precompiled& step, std::string& text) {
  // \X of PCRE2 10.42 joins neighbouring pictographs, which only a joiner (U+200D) or a character
  // of the class Prepend may join.
  static const SplitPattern graphemes(R"(\X)"),
      clusters(
          R"((?s).(?:\P{Extended_Pictographic}|(?<=[\x{200D}\x{600}-\x{605}\x{6DD}\x{70F}\x{890}\x{891}\x{8E2}\x{D4E}\x{110BD}\x{110CD}\x{111C2}\x{111C3}])\p{Extended_Pictographic})*+)");
  std::string out;
  const auto put = [&](std::string_view part) {
    std::string_view replacement;
    if (step.map->find(part, false, replacement) == 0) return false;
    out += replacement;
    return true;
  };
  for_each_validity(text, [&](std::string_view part, bool valid) {
    if (!valid) {
      out += part;
      return;
    }
    graphemes.for_each(part, [&](size_t begin, size_t end) {
      const std::string_view joined = part.substr(begin, end - begin);
      clusters.for_each(joined, [&](size_t first, size_t last) {
        const std::string_view grapheme = joined.substr(first, last - first);
        if (grapheme.size() < 6 && put(grapheme)) return;
        for (size_t at = 0; at < grapheme.size(); at += utf8_length(grapheme[at])) {
          const std::string_view character = grapheme.substr(at, utf8_length(grapheme[at]));
          if (!put(character)) out += character;
        }
      });
    });
  });
  text = std::move(out);
}

void Normalizer::run(UnicodeForm form, std::string& text) {
  if (find_invalid_utf8(text) == std::string_view::npos) return normalize_unicode(text, form);
  std::string out;
  for_each_validity(text, [&](std::string_view part, bool valid) {
    std::string one(part);
    if (valid) normalize_unicode(one, form);
    out += one;
  });
  text = std::move(out);
}

// SentencePiece's normalizer.cc.
void Normalizer::run(const SentencePiece& step, std::string& text) {
  std::string_view rest = text;
  std::string out;
  // Sets `made` to what the start of the rest becomes, and returns the bytes of that start.
  const auto next = [&](std::string_view& made) -> size_t {
    for (const std::string& one : step.user_defined)
      if (rest.starts_with(one)) {
        made = one;
        return one.size();
      }
    const size_t replaced = step.map ? step.map->find(rest, true, made) : 0;
    if (replaced > 0) return replaced;
    size_t length = std::min(utf8_length(rest[0]), rest.size());
    if (find_invalid_utf8(rest.substr(0, length)) != std::string_view::npos) length = 1;
    made = rest.substr(0, length);
    return length;
  };
  std::string_view made;
  if (step.remove_extra_white_space)
    while (!rest.empty()) {
      const size_t size = next(made);
      if (made != " ") break;
      rest.remove_prefix(size);
    }
  if (rest.empty()) return text.clear();
  const std::string_view space = step.escape_white_space ? kSpaceMark : " ";
  if (step.add_dummy_prefix) out += space;
  bool after_space = step.remove_extra_white_space;
  while (!rest.empty()) {
    const size_t size = next(made);
    rest.remove_prefix(size);
    while (after_space && made.starts_with(' ')) made.remove_prefix(1);
    if (!made.empty()) {
      for (char c : made) {
        if (c == ' ')
          out += space;
        else
          out += c;
      }
      after_space = made.ends_with(' ');
    }
    if (!step.remove_extra_white_space) after_space = false;
  }
  if (step.remove_extra_white_space)
    while (out.ends_with(space)) out.resize(out.size() - space.size());
  text = std::move(out);
}

}  // namespace nine
