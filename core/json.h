// JSON for settings, logs and checkpoints. This header omits the library's templates, which are
// slow to compile. A file that looks into a value includes <nlohmann/json.hpp>.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace nine {

/// A JSON value; the keys of an object keep the order in which they were written.
using Json = nlohmann::ordered_json;

/// The most nested levels of a JSON text. The library copies and writes a value by recursion, so
/// that a deeper value could overflow the stack.
inline constexpr int kJsonLevels = 100;

/// Returns the value of a JSON text of at most `max_levels` nested levels. UsageErrors name line
/// and column: the text is not JSON or is nested too deeply; a key is repeated in one object, which
/// other JSON readers accept.
Json parse_json(const std::string& text, int max_levels = kJsonLevels);

/// Returns the JSON object that `text` holds. Null if it holds another value, is not JSON, or is
/// nested more deeply than kJsonLevels.
Json parse_json_object(std::string_view text);

/// Returns the object that a JSON text holds. UsageErrors begin with "is not a JSON object". If the
/// text is not JSON, the message goes on with the place: ": it is not JSON: parse error at line 2,
/// column 5: ...". It goes on in the same way with the other errors of parse_json().
Json require_json_object(const std::string& text);

/// Returns the object in a file. Errors: those of require_json_object() after the file's name,
/// followed by `instead`, which says the consequence; the file cannot be read.
Json read_json_object(const std::filesystem::path& file, std::string_view instead = "");

/// Returns the sentence about a value of a wrong type or size, with at most 60 characters of the
/// value: "the key 'heads' is 2.5, and a whole number was expected".
std::string unexpected_value(std::string_view key, const Json& value, std::string_view expected);

/// Returns the message of an exception of the JSON library without the library's name for it
/// ("[json.exception.type_error.302] ") and with at most 60 characters of the text that it quotes.
/// Returns any other message as it is.
std::string json_error_text(std::string message);

/// True if the value is the text "".
bool is_empty_text(const Json& value);

/// Returns a value as text: on one line, or with `indent` spaces a level. Bytes that are not UTF-8
/// become U+FFFD.
std::string json_text(const Json& value, int indent = -1);

}  // namespace nine
