// What nine_convert does.
#pragma once

#include <string>

#include "apps/nine_convert/convert_options.h"

namespace nine::app {

/// Reads the model and writes the other one. Returns a line that says what was written. Errors:
/// those of read_model, plain_transformer and write_hugging_face; the result is there already, or
/// cannot be written. After an Error there is no result.
std::string convert(const ConvertOptions& o);

}  // namespace nine::app
