// JSON: settings, logs, checkpoints. Declared here without the library's templates, which are slow
// to compile: a file that looks into a value includes <nlohmann/json.hpp> itself.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace nine {

/// A JSON value; the keys of an object keep the order in which they were written.
using Json = nlohmann::ordered_json;

/// Most nested levels of a JSON text: a value is copied and written by recursion, which a deep one
/// would take beyond the stack's end.
inline constexpr int kJsonLevels = 100;

/// The value of a JSON text of at most so many nested levels. UsageError, which names line and
/// column: it is not JSON or deeper; a key is given twice in one object, which a JSON reader lets
/// pass.
Json parse_json(const std::string& text, int max_levels = kJsonLevels);

/// The JSON object that text holds; null where it holds anything else, is not JSON or is nested
/// more deeply than kJsonLevels.
Json parse_json_object(std::string_view text);

/// The object that a JSON text holds. UsageError, "is not a JSON object", and where it is wrong:
/// ": it is not JSON: parse error at line 2, column 5: ..."; parse_json's others likewise.
Json require_json_object(const std::string& text);

/// The object in a file. Error: require_json_object's behind the file's name, and `instead`, what
/// follows from that; the file cannot be read.
Json read_json_object(const std::filesystem::path& file, std::string_view instead = "");

/// value as text: on one line, or with indent spaces a level. Bytes that are not UTF-8 become
/// U+FFFD.
std::string json_text(const Json& value, int indent = -1);

}  // namespace nine
