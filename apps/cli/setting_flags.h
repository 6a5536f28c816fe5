// Adds the program's flags to errors of the libraries, which name settings in words.
#pragma once

#include <string>

#include "apps/cli/option_data.h"

namespace nine::app {

/// Returns `message` with the flag of each setting after the first mention of its words
/// (Option::called): "lower the learning rate or ..." becomes "lower the learning rate (--lr) or
/// ...". Words must stand by themselves, and the longest words count: "head context" does not
/// mention "head". A flag that the message names already is not added.
std::string with_setting_flags(const std::string& message, const OptionList& options);

}  // namespace nine::app
