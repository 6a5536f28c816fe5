// What a user should know of a file that was read although it is no error.
#pragma once

#include <functional>
#include <string>

namespace nine {

/// Says `text`, a sentence, on standard error, or as set_notices() has it; each text once.
void notice(const std::string& text);

/// Gives notices to `say` from now on, in place of standard error: a program that has a window, or
/// that is one of many processes. It may be called on any thread, one call at a time.
void set_notices(std::function<void(const std::string&)> say);

}  // namespace nine
