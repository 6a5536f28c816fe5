// Notices: what a user should know about a file that was read without an error.
#pragma once

#include <functional>
#include <string>

namespace nine {

/// Writes `text`, a sentence, to standard error, or passes it to the function of set_notices(). The
/// same text is written once a process.
void notice(const std::string& text);

/// Passes later notices to `say` instead of standard error, for programs with a window or with many
/// processes. Any thread may call `say`; calls do not overlap. `say` must not call notice() or
/// set_notices().
void set_notices(std::function<void(const std::string&)> say);

}  // namespace nine
