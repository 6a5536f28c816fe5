#include "apps/cli/short_message.h"

#include <algorithm>
#include <vector>

#include "core/quote.h"

namespace nine::app {
namespace {

constexpr size_t kLongWord = 200;

// Of this command line and its configuration; the longest first, since one can be part of another.
std::vector<std::string>& long_values() {
  static std::vector<std::string> values;
  return values;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace

void note_value(const OptionData& option, std::string_view value) {
  const bool is_long =
      option.names_files() ? value.size() > kLongWord : shortened(value).size() < value.size();
  if (!is_long) return;
  std::vector<std::string>& values = long_values();
  const auto longer = [](const std::string& a, const std::string& b) {
    return a.size() > b.size();
  };
  values.insert(std::upper_bound(values.begin(), values.end(), std::string(value), longer),
                std::string(value));
}

std::string short_message(std::string message) {
  for (const std::string& value : long_values()) replace_all(message, value, shortened(value));
  for (size_t at = 0; at < message.size();) {
    const size_t end = std::min(message.find_first_of(" \n", at), message.size());
    const std::string word = message.substr(at, end - at);
    const std::string by = word.size() > kLongWord ? shortened(word) : word;
    message.replace(at, word.size(), by);
    at += by.size() + 1;
  }
  return message;
}

}  // namespace nine::app
