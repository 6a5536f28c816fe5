#include "data/tokenize_13a.h"

#include "data/unicode.h"

namespace nine {

namespace {

// All character classes are ASCII, so the passes may go byte by byte: no class holds a byte of a
// longer character.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_stop(char c) { return c == '.' || c == ','; }
bool is_ascii_punctuation(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= '!' && c <= '&') ||
         (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

std::string punctuation_apart(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (is_ascii_punctuation(c)) {
      out += {' ', c, ' '};
    } else {
      out += c;
    }
  }
  return out;
}

/// Rewrites pairs of neighbours that `matches`, from left to right. Each character is in one pair
/// at most.
template <class Matches>
std::string rewrite_pairs(const std::string& text, Matches matches, bool space_in_front,
                          bool space_behind) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !matches(text[i], text[i + 1])) {
      out += text[i];
      continue;
    }
    if (space_in_front) out += ' ';
    out += {text[i], ' ', text[i + 1]};
    if (space_behind) out += ' ';
    ++i;
  }
  return out;
}

std::string with_single_spaces(std::string_view text) {
  std::string out;
  bool apart = false;
  for (size_t at = 0; at < text.size();) {
    if (const size_t space = space_at_start(text.substr(at)); space > 0) {
      apart = !out.empty();
      at += space;
      continue;
    }
    if (apart) out += ' ';
    apart = false;
    const size_t length = utf8_length(text[at]);
    out += text.substr(at, length);
    at += length;
  }
  return out;
}

}  // namespace

std::string tokenize_13a(std::string_view line) {
  std::string text(line);
  replace_all(text, "<skipped>", "");
  // Replaces one entity after the other, as mteval-v13a does: &amp;lt; becomes &lt; and then <.
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");
  text = punctuation_apart(" " + text + " ");
  text = rewrite_pairs(
      text, [](char a, char b) { return !is_digit(a) && is_stop(b); }, false, true);
  text = rewrite_pairs(
      text, [](char a, char b) { return is_stop(a) && !is_digit(b); }, true, false);
  text = rewrite_pairs(
      text, [](char a, char b) { return is_digit(a) && b == '-'; }, false, true);
  return with_single_spaces(text);
}

}  // namespace nine
