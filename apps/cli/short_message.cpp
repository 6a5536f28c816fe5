#include "apps/cli/short_message.h"

#include <algorithm>
#include <cctype>
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

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == ':';
  });
}

// Takes "[learn_bpe] " out where a sentence begins: which function found an error helps those who
// call the library. The op whose pass gave NaN stays: it is what the sentence is about.
void take_out_functions(std::string& message) {
  for (size_t at = 0; at != std::string::npos;) {
    const size_t end = message.find("] ", at);
    if (message[at] == '[' && end != std::string::npos &&
        is_name(std::string_view(message).substr(at + 1, end - at - 1)) &&
        !std::string_view(message).substr(end).starts_with("] the forward pass") &&
        !std::string_view(message).substr(end).starts_with("] the backward pass"))
      message.erase(at, end + 2 - at);
    at = message.find(": ", at);
    if (at != std::string::npos) at += 2;
  }
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
  take_out_functions(message);
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
