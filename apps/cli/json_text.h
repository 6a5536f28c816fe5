// JSON written by hand: configuration files and the input of kernel_inspect.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace nine::app {

/// The value of a JSON text, keys in their order. UsageError: it is not JSON; a key is given twice
/// in one object, which a JSON reader lets pass.
nlohmann::ordered_json parse_json(const std::string& text);

}  // namespace nine::app
