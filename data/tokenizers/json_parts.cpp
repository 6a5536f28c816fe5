#include "data/tokenizers/json_parts.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

#include "core/error.h"
#include "core/quote.h"

namespace nine {

namespace {

/// Builds a value from the events of the parser. (Json's own parser looks through all members of an
/// object for each new key.)
class Builder : public nlohmann::json_sax<Json> {
 public:
  Json root;

  bool null() override { return put(Json()); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& value) override {
    require(open_.back().keys.insert(value).second, "it has the key ", quote(value), " twice");
    key_ = std::move(value);
    return true;
  }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception& e) override {
    fail("is not a JSON object: ", json_error_text(e.what()));
  }

 private:
  struct Open {
    Json* value;
    std::unordered_set<std::string> keys;
  };

  Json& add(Json value) {
    if (open_.empty()) return root = std::move(value);
    Json& parent = *open_.back().value;
    if (parent.is_array()) return parent.get_ref<Json::array_t&>().emplace_back(std::move(value));
    return parent.get_ref<Json::object_t&>().emplace_back(std::move(key_), std::move(value)).second;
  }
  bool put(Json value) {
    add(std::move(value));
    return true;
  }
  bool open(Json value) {
    require(open_.size() < static_cast<size_t>(kJsonLevels), "it is nested more deeply than ",
            kJsonLevels, " levels");
    Json& added = add(std::move(value));
    open_.push_back({&added, {}});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<Open> open_;  // a value does not move while it is open
  std::string key_;
};

}  // namespace

Json parse_tokenizer_json(const std::string& text) {
  Builder builder;
  Json::sax_parse(text, &builder);
  require(builder.root.is_object(), "is not a JSON object");
  return std::move(builder.root);
}

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
  require(found->is_string(), unexpected_value(key, *found, "text"));
  return *found;
}

bool bool_member(const Json& part, const char* key, bool otherwise) {
  const auto found = part.find(key);
  if (found == part.end() || found->is_null()) return otherwise;
  require(found->is_boolean(), unexpected_value(key, *found, "true or false"));
  return *found;
}

int64_t int_member(const Json& part, const char* key, int64_t otherwise) {
  const auto found = part.find(key);
  if (found == part.end() || found->is_null()) return otherwise;
  require(found->is_number_integer() &&
              (!found->is_number_unsigned() || found->get<uint64_t>() >> 62 == 0),
          unexpected_value(key, *found, "a whole number"));
  return *found;
}

const Json& array_member(const Json& part, const char* key) {
  const auto found = part.find(key);
  require(found != part.end() && found->is_array(),
          unexpected_value(key, found == part.end() ? Json() : *found, "a list"));
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
