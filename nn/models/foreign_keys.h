// Keys of a JSON file in which another program describes its model.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
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
  /// Returns a whole number from 1 to 2^40 - 1. Error: the key is missing or has another value.
  int64_t whole(const char* key) const {
    const Json* const value = find(key);
    require(value != nullptr, place_, " lacks the key '", key, "'");
    require(value->is_number_integer() && *value > 0 && *value < int64_t{1} << 40, place_, ": ",
            unexpected_value(key, *value, "a whole number from 1 on"));
    return value->get<int64_t>();
  }
  /// Return a value, or `usual` if the key is missing or null. Error: a value of another type.
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

 private:
  const std::string& place_;
  const Json& keys_;
};

}  // namespace nine
