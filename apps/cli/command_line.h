// Splits a command line among the flags.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/option_data.h"

namespace nine::app {

/// Returns a list of texts for each option (for a switch: "true" or "false"), empty if the option
/// is not given. Throws UsageError for unknown flags, missing values, superfluous arguments, and
/// flags given twice.
std::vector<std::vector<std::string>> read_command_line(const OptionList& options,
                                                        const std::vector<std::string>& arguments);

}  // namespace nine::app
