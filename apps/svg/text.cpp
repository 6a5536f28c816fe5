#include "apps/svg/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <utility>

#include "core/number_format.h"

namespace nine::app {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kDash = "\xE2\x80\x93";

// The length of the well-formed UTF-8 sequence that `text` starts with, 0 when there is none.
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate_or_beyond =
      (lead == 0xED && byte(1) > 0x9F) || (lead == 0xF4 && byte(1) > 0x8F);
  return overlong || surrogate_or_beyond ? 0 : length;
}

bool is_control(char c) {
  const auto u = static_cast<unsigned char>(c);
  return (u < 0x20 && c != '\n' && c != '\t') || u == 0x7F;
}

// Whether a character sets the direction of what follows it: U+202A to 202E, U+2066 to 2069.
bool is_direction_control(std::string_view character) {
  return (character >= "\xE2\x80\xAA" && character <= "\xE2\x80\xAE") ||
         (character >= "\xE2\x81\xA6" && character <= "\xE2\x81\xA9");
}

// Whether a word keeps its letters' order from left to right but not the place of the marks at its
// ends, where the sentence around it runs from right to left.
bool loses_its_ends(std::string_view word) {
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  return !word.empty() && std::all_of(word.begin(), word.end(), is_ascii) &&
         std::any_of(word.begin(), word.end(), is_letter) &&
         !(is_letter(word.front()) && is_letter(word.back()));
}

// `text` with control characters and broken UTF-8 replaced.
std::string cleaned(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = sequence_length(text);
    if (length == 0 || is_control(text[0]) || is_direction_control(text.substr(0, length))) {
      out += kReplacement;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

// The cleaned `text` with each character replaced by substitute(c) where that is not null.
template <class F>
std::string replaced(std::string_view text, F&& substitute) {
  std::string out;
  for (const char c : cleaned(text)) {
    if (const char* other = substitute(c)) {
      out += other;
    } else {
      out += c;
    }
  }
  return out;
}

std::string without_trailing_zeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string with_commas(std::string text) {
  const size_t point = std::min(text.find('.'), text.size());
  const size_t first = text.starts_with('-') ? 1 : 0;
  for (size_t i = point; i > first + 3;) text.insert(i -= 3, 1, ',');
  return text;
}

// 1.2e-7: no trailing zeros, no plus sign, no padded exponent.
std::string scientific(double value, int digits) {
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific, digits - 1)
                       .ptr;
  const std::string text(buffer.data(), end);
  const size_t e = text.find('e');
  return without_trailing_zeros(text.substr(0, e)) + "e" +
         std::to_string(std::stoi(text.substr(e + 1)));
}

int decimals_for(double value, int digits) {
  const int exponent = static_cast<int>(std::floor(std::log10(std::fabs(value))));
  return std::clamp(digits - 1 - exponent, 0, 12);
}

}  // namespace

std::string escaped(std::string_view text) {
  const auto entity = [](char c) {
    switch (c) {
      case '&':
        return "&amp;";
      case '<':
        return "&lt;";
      case '>':
        return "&gt;";
      case '"':
        return "&quot;";
      case '\'':
        return "&#39;";
      default:
        return static_cast<const char*>(nullptr);
    }
  };
  return replaced(text, entity);
}

std::string isolated(std::string_view text) { return "<bdi>" + escaped(text) + "</bdi>"; }

std::string escaped_sentence(std::string_view text) {
  std::string out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    out += loses_its_ends(word) ? isolated(word) : escaped(word);
    if (end < text.size()) out += ' ';
    at = end + 1;
  }
  return out;
}

std::string json_string(std::string_view text) {
  const auto escape = [](char c) {
    switch (c) {
      case '"':
        return "\\\"";
      case '\\':
        return "\\\\";
      case '\n':
        return "\\n";
      case '\t':
        return "\\t";
      // Inside of a <script>, "</script>" and "<!--" would end or change the element.
      case '<':
        return "\\u003c";
      case '>':
        return "\\u003e";
      case '&':
        return "\\u0026";
      default:
        return static_cast<const char*>(nullptr);
    }
  };
  return '"' + replaced(text, escape) + '"';
}

std::string figure(double value) {
  if (!std::isfinite(value)) return std::string(kDash);
  if (value == 0) return "0";
  const double size = std::fabs(value);
  if (size >= 1e12 || size < 1e-4) return scientific(value, 3);
  const std::string text = fixed(value, decimals_for(value, 4));
  // 0.001, but 61.20, whose decimals line up in a column.
  return with_commas(size < 1 ? without_trailing_zeros(text) : text);
}

std::string count(double value) {
  if (std::fabs(value) >= 1e15 || !std::isfinite(value)) return figure(value);
  return with_commas(fixed(std::round(value), 0));
}

std::string plain(double value) {
  if (std::fabs(value) >= 1e15 || !std::isfinite(value)) return figure(value);
  return with_commas(without_trailing_zeros(fixed(value, 2)));
}

std::string compact(double value) {
  if (!std::isfinite(value)) return std::string(kDash);
  if (value == 0) return "0";
  const double size = std::fabs(value);
  if (size >= 1e12 || size < 1e-4) return scientific(value, 3);
  if (size < 1e-3) {
    const std::string text = without_trailing_zeros(fixed(value, 7));
    return text.size() <= 6 ? text : scientific(value, 3);
  }
  constexpr std::array<std::pair<double, const char*>, 3> kUnits{
      {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [unit, letter] : kUnits)
    if (size >= unit)
      return without_trailing_zeros(fixed(value / unit, decimals_for(value / unit, 4))) + letter;
  return without_trailing_zeros(fixed(value, decimals_for(value, 4)));
}

std::string json_number(double value, int digits) {
  if (!std::isfinite(value)) return "null";
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::general, digits)
                       .ptr;
  return {buffer.data(), end};
}

std::string coordinate(double value) { return without_trailing_zeros(fixed(value, 2)); }

std::string duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return std::string(kDash);
  if (seconds < 60) return without_trailing_zeros(fixed(seconds, 1)) + " s";
  const auto whole = static_cast<long long>(std::min(seconds, 1e15));
  const auto two = [](long long a, const char* unit_a, long long b, const char* unit_b) {
    std::string text = std::to_string(a) + unit_a;
    if (b > 0) text += " " + std::to_string(b) + unit_b;
    return text;
  };
  if (whole < 3600) return two(whole / 60, " min", whole % 60, " s");
  if (whole < 86400) return two(whole / 3600, " h", whole % 3600 / 60, " min");
  return two(whole / 86400, " d", whole % 86400 / 3600, " h");
}

std::string plural(double n, std::string_view noun) {
  return count(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
}

}  // namespace nine::app
