// The text of --help.
#pragma once

#include <string>

#include "apps/cli/option_data.h"

namespace nine::app {

/// Returns the text of --help: the options by group, wrapped at 80 columns.
std::string help_page(const std::string& program, const std::string& description,
                      const OptionList& options);

}  // namespace nine::app
