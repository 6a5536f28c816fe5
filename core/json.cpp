#include "core/json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/files.h"

namespace nine {
namespace {

// Whether the event of a parser at `depth` opens a level beyond max_levels.
bool opens_beyond(int max_levels, int depth, Json::parse_event_t event) {
  using Event = Json::parse_event_t;
  return (event == Event::object_start || event == Event::array_start) && depth >= max_levels;
}

}  // namespace

Json parse_json(const std::string& text, int max_levels) {
  std::vector<std::set<std::string>> objects;  // the open ones' keys
  std::string twice;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    using Event = Json::parse_event_t;
    if (opens_beyond(max_levels, depth, event))
      throw UsageError(concat("is nested more deeply than ", max_levels, " levels"));
    if (event == Event::object_start) objects.emplace_back();
    if (event == Event::object_end) objects.pop_back();
    if (event == Event::key && !objects.back().insert(value.get<std::string>()).second)
      twice = value.get<std::string>();
    return true;
  };
  Json json;
  try {
    json = Json::parse(text, watch);
  } catch (const Json::exception& e) {
    const std::string_view what = e.what();
    // "[json.exception.parse_error.101] parse error at line 2, ...": without the part in brackets.
    const size_t end_of_id = what.find("] ");
    throw UsageError(concat("is not JSON: ",
                            what.substr(end_of_id == std::string_view::npos ? 0 : end_of_id + 2)));
  }
  if (!twice.empty()) throw UsageError(concat('"', twice, "\" is given twice"));
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

Json read_json_object(const std::filesystem::path& file, std::string_view instead) {
  Json value = parse_json_object(read_text(file));
  require(value.is_object(), file.string(), " is not a JSON object of at most ", kJsonLevels,
          " nested levels", instead);
  return value;
}

std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace nine
