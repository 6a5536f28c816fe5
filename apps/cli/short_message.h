// Messages that quote little of what a user gave: the one rule for all options of all programs.
#pragma once

#include <string>
#include <string_view>

#include "apps/cli/option_data.h"

namespace nine::app {

/// Notes a value that an option was given. What messages do not quote in full: more than 60
/// characters, of a file's name, which one needs whole, more than 200.
void note_value(const OptionData& option, std::string_view value);

/// `message` without names of functions ("[learn_bpe] "), and with noted values, and words of more
/// than 200 characters, shortened to 60 (core/quote.h).
std::string short_message(std::string message);

}  // namespace nine::app
