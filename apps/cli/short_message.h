// Shortens the user's texts in messages, by one rule for all options of all programs.
#pragma once

#include <string>
#include <string_view>

#include "apps/cli/option_data.h"

namespace nine::app {

/// Notes the value of an option. Messages shorten values of more than 60 characters; names of
/// files, which a user needs whole, of more than 200 characters.
void note_value(const OptionData& option, std::string_view value);

/// Returns `message` without names of functions ("[learn_bpe] "). Noted values, and words of more
/// than 200 characters, are shortened to 60 characters (core/quote.h).
std::string short_message(std::string message);

}  // namespace nine::app
