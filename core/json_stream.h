// Reads a large JSON text without holding all of its values at once.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/json.h"

namespace nine {

/// An array or an object, member `name` of the member `parent` of a JSON object, whose elements
/// are taken one by one and not kept.
struct JsonStream {
  std::string_view parent, name;
  /// Takes the next element, with its key; null: it is an element of an array.
  std::function<void(const std::string* key, const Json& element)> take;
};

/// Returns the object that a JSON text holds, with the values of `streams` empty. Errors: those of
/// require_json_object(), except for a key that is there twice in such a value; those of take().
Json require_json_object(const std::string& text, std::span<const JsonStream> streams);

}  // namespace nine
