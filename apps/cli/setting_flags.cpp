#include "apps/cli/setting_flags.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace nine::app {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

bool is_flag_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
}

// Words stand by themselves after a blank or an opening bracket, and before a blank, a closing
// bracket or a mark of punctuation that ends a part of the sentence. So "head" is not found in
// "head.weight", "runs/head", "[head]", "'head'" or "--head".
bool starts_word(std::string_view text, size_t at) {
  return at == 0 || text[at - 1] == ' ' || text[at - 1] == '(';
}

bool ends_word(std::string_view text, size_t at) {
  if (at == text.size()) return true;
  const bool last = at + 1 == text.size() || text[at + 1] == ' ' || text[at + 1] == '\n';
  return text[at] == ' ' || text[at] == ')' ||
         (std::string_view(",;:.?!").find(text[at]) != std::string_view::npos && last);
}

bool mentions(std::string_view text, size_t at, std::string_view setting) {
  return text.size() - at >= setting.size() && ends_word(text, at + setting.size()) &&
         std::equal(setting.begin(), setting.end(), text.begin() + static_cast<ptrdiff_t>(at),
                    [](char a, char b) { return lower(a) == lower(b); });
}

bool names_flag(std::string_view text, std::string_view flag) {
  for (size_t at = text.find(flag); at != std::string_view::npos; at = text.find(flag, at + 1)) {
    const size_t end = at + flag.size();
    if (end == text.size() || !is_flag_character(text[end])) return true;
  }
  return false;
}

// The option whose words begin at `at`, null where none do.
const OptionData* mentioned_at(std::string_view text, size_t at, const OptionList& options) {
  const OptionData* longest = nullptr;
  if (!starts_word(text, at)) return longest;
  for (const OptionData* option : options)
    if (!option->setting.empty() && mentions(text, at, option->setting) &&
        (!longest || longest->setting.size() < option->setting.size()))
      longest = option;
  return longest;
}

}  // namespace

std::string with_setting_flags(const std::string& message, const OptionList& options) {
  std::string out;
  for (size_t at = 0; at < message.size();) {
    const OptionData* option = mentioned_at(message, at, options);
    const size_t length = option ? option->setting.size() : 1;
    out.append(message, at, length);
    at += length;
    if (option && !names_flag(message, option->typed()) && !names_flag(out, option->typed()))
      out += " (" + option->typed() + ")";
  }
  return out;
}

}  // namespace nine::app
