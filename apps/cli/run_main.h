// Runs the main() of every program, with exit codes and error messages.
#pragma once

#include <functional>

#include "apps/cli/options.h"

namespace nine::app {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInterrupted = 130;  ///< ended by SIGINT or SIGTERM, after a checkpoint

/// Runs `body` and returns its exit code. A UsageError prints "program: message" and "try 'program
/// --help'" to standard error and returns kExitUsage. Any other exception, and output that could
/// not be written, prints "program: message" and returns kExitFailed.
int run_main(const char* program, const std::function<int()>& body);

/// Does the same for a program with these options, which `body` parses. An Error after parsing gets
/// the flags of the settings that its message mentions (apps/cli/setting_flags.h).
int run_main(const Options& options, const std::function<int()>& body);

}  // namespace nine::app
