// A directory on a command line that a program writes into: --run, --output, --tensorboard.
#pragma once

#include <filesystem>

namespace nine::app {

/// Makes the directory and its parents where they are missing. Error, which names the flag: a file
/// is in the way, or the directory cannot be made.
void make_output_directory(const char* flag, const std::filesystem::path& directory);

/// For what is made after long work: Error now where make_output_directory, or a file in the
/// directory, would fail then. Makes nothing.
void require_output_directory(const char* flag, const std::filesystem::path& directory);

}  // namespace nine::app
