// What every program's main() calls: exit codes and error messages.
#pragma once

#include <functional>

#include "apps/cli/options.h"

namespace nine::app {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInterrupted = 130;  ///< by SIGINT or SIGTERM, after a checkpoint

/// Runs `body` and returns its exit code. A UsageError becomes "program: message" and "try 'program
/// --help'" on standard error and kExitUsage; any other exception "program: message" and
/// kExitFailed, output that could not be written too.
int run_main(const char* program, const std::function<int()>& body);

/// The same for a program with these options, which `body` parses. To the message of an Error that
/// comes after that, the flags of the settings that it mentions are added
/// (apps/cli/setting_flags.h).
int run_main(const Options& options, const std::function<int()>& body);

}  // namespace nine::app
