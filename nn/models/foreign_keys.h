// Keys of a JSON file in which another program describes its model.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/json.h"
#include "core/quote.h"

namespace nine {

/// The keys of a file of another program. Errors begin with `place`.
class ForeignKeys {
 public:
  /// Both arguments must outlive the object.
  ForeignKeys(const std::string& place, const Json& keys) : place_(place), keys_(keys) {}

  /// Returns a value; null if the key is missing or null.
  const Json* find(const char* key) const {
    const auto found = keys_.find(key);
    return found == keys_.end() || found->is_null() ? nullptr : &*found;
  }
  bool has(const char* key) const { return keys_.contains(key); }
  /// Error: the key is there, and is not the size that the tensors have.
  void size(const char* key, int64_t of_tensors) const {
    require(find(key) == nullptr || whole(key) == of_tensors, place_, ": the key '", key, "' is ",
            find(key) == nullptr ? "" : json_text(*find(key)), ", and the tensors have ",
            of_tensors);
  }
  /// Returns a whole number from 1 to 2^40 - 1. Error: the key is missing or has another value.
  int64_t whole(const char* key) const {
    const Json* const value = find(key);
    require(value != nullptr, place_, " lacks the key '", key, "'");
    require(value->is_number_integer() && *value > 0 && *value < int64_t{1} << 40, place_, ": ",
            unexpected_value(key, *value, "a whole number from 1 on"));
    return value->get<int64_t>();
  }
  /// Return a value, or `usual` if the key is missing or null. Error: a value of another type.
  double number(const char* key, double usual) const {
    const Json* const value = find(key);
    require(value == nullptr || value->is_number(), place_, ": ",
            unexpected_value(key, value == nullptr ? Json() : *value, "a number"));
    return value == nullptr ? usual : value->get<double>();
  }
  bool yes(const char* key, bool usual) const {
    const Json* const value = find(key);
    require(value == nullptr || value->is_boolean(), place_, ": ",
            unexpected_value(key, value == nullptr ? Json() : *value, "true or false"));
    return value == nullptr ? usual : value->get<bool>();
  }
  std::string text(const char* key, const char* usual) const {
    const Json* const value = find(key);
    require(value == nullptr || value->is_string(), place_, ": ",
            unexpected_value(key, value == nullptr ? Json() : *value, "a text"));
    return value == nullptr ? usual : value->get<std::string>();
  }
  /// Error: the key has another value than `only`, which the layers of Nine have.
  void only(const char* key, const Json& only) const {
    const Json* const value = find(key);
    require(value == nullptr || *value == only, place_, ": the key '", key, "' is ",
            value == nullptr ? "" : shortened(json_text(*value)), ", and Nine has ",
            json_text(only), " alone");
  }
  /// Returns the id of a token, the first of a list; nullopt if the key is missing.
  std::optional<int64_t> token(const char* key) const {
    const Json* value = find(key);
    if (value != nullptr && value->is_array() && !value->empty()) value = &value->front();
    if (value == nullptr) return std::nullopt;
    require(value->is_number_integer() && *value >= 0 && *value < int64_t{1} << 31, place_, ": ",
            unexpected_value(key, *value, "the number of a token"));
    return value->get<int64_t>();
  }

 private:
  const std::string& place_;
  const Json& keys_;
};

}  // namespace nine
