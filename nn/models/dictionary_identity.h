// The checksums of dictionaries, which a run's config.json has under resolved/identity, and the
// metadata of its weights under `words`.
#pragma once

#include <filesystem>
#include <string>

#include "core/json.h"

namespace nine {

/// Compares the dictionaries of a directory with the checksums of `identity`. Returns a text that
/// ends with "; " for each difference, where "that file" is the file of `identity`; empty if
/// nothing differs. Leaves out a dictionary that is not there or has no checksum.
std::string dictionary_differences(const std::filesystem::path& directory, const Json& identity);

/// Returns the checksums of dictionaries in `identity`, which has those of texts too.
Json dictionaries_of(const Json& identity);

}  // namespace nine
