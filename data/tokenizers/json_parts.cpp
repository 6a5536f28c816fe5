#include "data/tokenizers/json_parts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/quote.h"

namespace nine {

std::string part_type(const Json& part, std::string_view what) {
  require(part.is_object() && part.contains("type") && part["type"].is_string(), "the ", what,
          " is ", shortened(json_text(part)), ", and an object with a type was expected");
  return part["type"];
}

void check_members(const Json& part, std::string_view what,
                   std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : part.items())
    require(key == "type" || std::find(known.begin(), known.end(), key) != known.end(), "the ",
            what, " has the member ", quote(key), ", which Nine does not know");
}

std::string text_member(const Json& part, const char* key, const char* otherwise) {
  const auto found = part.find(key);
  if (found == part.end() || found->is_null()) {
    require(otherwise != nullptr, "the key '", key, "' is missing");
    return otherwise;
  }
  if (!found->is_string()) fail(unexpected_value(key, *found, "text"));
  return *found;
}

bool bool_member(const Json& part, const char* key, bool otherwise) {
  const auto found = part.find(key);
  if (found == part.end() || found->is_null()) return otherwise;
  if (!found->is_boolean()) fail(unexpected_value(key, *found, "true or false"));
  return *found;
}

int64_t int_member(const Json& part, const char* key, int64_t otherwise) {
  const auto found = part.find(key);
  if (found == part.end() || found->is_null()) return otherwise;
  if (!found->is_number_integer() ||
      (found->is_number_unsigned() && found->get<uint64_t>() >> 62 != 0))
    fail(unexpected_value(key, *found, "a whole number"));
  return *found;
}

const Json& array_member(const Json& part, const char* key) {
  const auto found = part.find(key);
  if (found == part.end() || !found->is_array())
    fail(unexpected_value(key, found == part.end() ? Json() : *found, "a list"));
  return *found;
}

bool read_pattern(const Json& part, std::string& text) {
  const auto found = part.find("pattern");
  const Json value = found == part.end() ? Json() : *found;
  const bool whole = value.is_object() && value.size() == 1 && value.begin()->is_string();
  const std::string kind = whole ? value.begin().key() : "";
  require(kind == "String" || kind == "Regex",
          unexpected_value("pattern", value, R"({"String": TEXT} or {"Regex": TEXT})"));
  text = value.begin()->get<std::string>();
  return kind == "Regex";
}

}  // namespace nine
