#include "core/json.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/quote.h"

namespace nine {
namespace {

// True if the event of a parser at `depth` opens a level beyond max_levels.
bool opens_beyond(int max_levels, int depth, Json::parse_event_t event) {
  using Event = Json::parse_event_t;
  return (event == Event::object_start || event == Event::array_start) && depth >= max_levels;
}

// A place in a text that remembers how far the parser has read.
struct ReadingPlace {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  const char* at;
  const char** read;

  const char& operator*() const { return *at; }
  ReadingPlace& operator++() {
    *read = ++at;
    return *this;
  }
  bool operator==(const ReadingPlace& other) const { return at == other.at; }
};

// Returns the place of the last character of `read` in the library's form: " (line 2, column 5)".
std::string place_text(std::string_view read) {
  const size_t line_begin = read.rfind('\n') + 1;  // 0 on the first line
  return concat(" (line ", 1 + std::count(read.begin(), read.end(), '\n'), ", column ",
                read.size() - line_begin, ")");
}

// What the library says before it quotes a number that is too large.
constexpr std::string_view kOverflow = "number overflow parsing '";

// Keeps only the end of the text that a message of the library quotes, at most 60 characters.
std::string short_what(std::string what) {
  constexpr size_t kMost = 60;
  for (const std::string_view before : {std::string_view("last read: '"), kOverflow}) {
    size_t begin = what.find(before);
    if (begin == std::string::npos) continue;
    begin += before.size();
    size_t end = what.rfind("'; expected ");
    if (end == std::string::npos || end < begin) end = what.rfind('\'');
    if (end <= begin + kMost) break;
    size_t kept = end - kMost;
    while (kept < end && (static_cast<unsigned char>(what[kept]) & 0xc0u) == 0x80u) ++kept;
    what.replace(begin, kept - begin, "...");
    break;
  }
  return what;
}

}  // namespace

Json parse_json(const std::string& text, int max_levels) {
  std::vector<std::set<std::string>> objects;  // the keys of the open objects
  std::string twice;
  const char *const begin = text.data(), *const end = begin + text.size(), *read = begin;
  const auto place = [&] { return place_text({begin, static_cast<size_t>(read - begin)}); };
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    using Event = Json::parse_event_t;
    if (opens_beyond(max_levels, depth, event))
      throw UsageError(concat("is nested more deeply than ", max_levels, " levels", place()));
    if (event == Event::object_start) objects.emplace_back();
    if (event == Event::object_end) objects.pop_back();
    if (event == Event::key && twice.empty() &&
        !objects.back().insert(value.get<std::string>()).second)
      twice = concat('"', shortened(value.get<std::string>()), "\" is given twice", place());
    return true;
  };
  Json json;
  try {
    json = Json::parse(ReadingPlace{begin, &read}, ReadingPlace{end, &read}, watch);
  } catch (const Json::exception& e) {
    const std::string what = json_error_text(e.what());
    if (what.starts_with(kOverflow))
      throw UsageError(concat("has the number ",
                              what.substr(kOverflow.size(), what.size() - kOverflow.size() - 1),
                              ", which is too large for a double", place()));
    throw UsageError(
        concat("is not JSON: ", what, what.find(" at line ") == std::string::npos ? place() : ""));
  }
  if (!twice.empty()) throw UsageError(twice);
  return json;
}

Json parse_json_object(std::string_view text) {
  bool deep = false;
  const auto watch = [&](int depth, Json::parse_event_t event, Json&) {
    deep = deep || opens_beyond(kJsonLevels, depth, event);
    return !deep;  // the rest is read but not kept
  };
  Json value = Json::parse(text, watch, false);
  return value.is_object() && !deep ? value : Json();
}

Json require_json_object(const std::string& text) {
  Json value;
  try {
    value = parse_json(text);
  } catch (const UsageError& e) {
    const std::string_view what = e.what();
    const bool of_file = what.starts_with("is ") || what.starts_with("has ");
    throw UsageError(concat("is not a JSON object: ", of_file ? "it " : "", what));
  }
  if (!value.is_object()) throw UsageError("is not a JSON object");
  return value;
}

Json read_json_object(const std::filesystem::path& file, std::string_view instead) {
  const std::string text = read_text(file);
  try {
    return require_json_object(text);
  } catch (const UsageError& e) {
    fail(file.string(), " ", e.what(), instead);
  }
}

std::string unexpected_value(std::string_view key, const Json& value, std::string_view expected) {
  return concat("the key '", key, "' is ", shortened(json_text(value)), ", and ", expected,
                " was expected");
}

std::string json_error_text(std::string message) {
  const size_t id_end = message.find("] ");
  if (!message.starts_with("[json.exception.") || id_end == std::string::npos) return message;
  return short_what(message.substr(id_end + 2));
}

std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace nine
