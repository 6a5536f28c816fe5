#include "apps/nine_serve/request_fields.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/nine_serve/api_error.h"
#include "core/quote.h"
#include "core/suggest.h"

namespace nine::app {

Json json_number(double x) { return std::isfinite(x) ? Json(x) : Json(); }

void fail_field(const std::string& name, const Json& value, const std::string& expected) {
  throw ApiError(400, unexpected_value(name, value, expected), name);
}

RequestFields::RequestFields(const std::string& body, int levels) {
  try {
    object_ = std::make_shared<Json>(parse_json(body, levels));
  } catch (const UsageError& e) {
    const std::string_view what = e.what();
    const bool of_body = what.starts_with("is ") || what.starts_with("has ");
    throw ApiError(400, concat("the body is not a JSON object: ", of_body ? "it " : "", what));
  }
  if (!object_->is_object())
    throw ApiError(400,
                   concat("the body is not a JSON object: it is ", shortened(json_text(*object_))));
}

const Json* RequestFields::find(const std::string& name) {
  known_.insert(name);
  const auto found = object_->find(name);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

bool RequestFields::flag(const std::string& name, bool usual) {
  const Json* const value = find(name);
  if (value == nullptr) return usual;
  if (!value->is_boolean()) fail_field(name, *value, "true or false");
  return value->get<bool>();
}

int64_t RequestFields::count(const std::string& name, int64_t usual, int64_t low, int64_t high) {
  const Json* const value = find(name);
  if (value == nullptr) return usual;
  const bool large =
      value->is_number_unsigned() && value->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  if (!value->is_number_integer() || large || value->get<int64_t>() < low ||
      value->get<int64_t>() > high)
    fail_field(name, *value, concat("a whole number from ", low, " to ", high));
  return value->get<int64_t>();
}

double RequestFields::number(const std::string& name, double usual, double low, double high) {
  const Json* const value = find(name);
  if (value == nullptr) return usual;
  const double x = value->is_number() ? value->get<double>() : NAN;
  if (!(x >= low && x <= high))
    fail_field(name, *value, concat("a number from ", low, " to ", high));
  return x;
}

std::string RequestFields::text(const std::string& name, const std::string& usual) {
  const Json* const value = find(name);
  if (value == nullptr) return usual;
  if (!value->is_string()) fail_field(name, *value, "a text");
  return value->get<std::string>();
}

std::vector<std::string> RequestFields::texts(const std::string& name, int64_t most) {
  const Json* const value = find(name);
  std::vector<std::string> all;
  if (value == nullptr) return all;
  if (value->is_string()) return {value->get<std::string>()};
  if (!value->is_array()) fail_field(name, *value, "a text or a list of texts");
  require_field(std::ssize(*value) <= most, name, "the key '", name, "' has ", value->size(),
                " texts, and at most ", most, " are allowed");
  for (const Json& element : *value) {
    if (!element.is_string()) fail_field(name, element, "a text in the list");
    all.push_back(element.get<std::string>());
  }
  return all;
}

void RequestFields::require_usual(const std::string& name, const Json& usual,
                                  const std::string& why) {
  const Json* const value = find(name);
  require_field(value == nullptr || *value == usual, name, "the key '", name, "' is ",
                value == nullptr ? "" : shortened(json_text(*value)), ": ", why);
}

void RequestFields::require_all_known() const {
  for (auto field = object().begin(); field != object().end(); ++field)
    if (!known_.contains(field.key()))
      throw ApiError(400,
                     concat("there is no key ", quote(field.key()),
                            did_you_mean(field.key(), {known_.begin(), known_.end()})),
                     shortened(field.key()));
}

}  // namespace nine::app
