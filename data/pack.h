// Packs text as gzip does.
#pragma once

#include <string>
#include <string_view>

namespace nine {

/// Returns the text as one member of gzip, without a name and a time, so that equal texts give
/// equal bytes.
std::string gzip(std::string_view text);

}  // namespace nine
