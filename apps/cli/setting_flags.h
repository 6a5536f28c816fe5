// Errors of the libraries speak of settings in words; here the program's flags are added to them.
#pragma once

#include <string>

#include "apps/cli/option_data.h"

namespace nine::app {

/// `message` with the flag of each setting behind the first mention of its words (Option::called):
/// "lower the learning rate or ..." becomes "lower the learning rate (--lr) or ...". Words count
/// when they stand by themselves, and the longest ones first: "head context" is no mention of
/// "head". A flag that the message names already is not added.
std::string with_setting_flags(const std::string& message, const OptionList& options);

}  // namespace nine::app
