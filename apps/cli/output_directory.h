// A directory on a command line that a program writes into: --run, --tensorboard, --export-parity,
// and lm_rescore's --output.
#pragma once

#include <filesystem>

namespace nine::app {

/// Makes the directory and its parents where they are missing. Error, which names the flag: a file
/// or a link to nothing is in the way, or the directory cannot be made. Whether it can be written
/// is not looked at.
void make_output_directory(const char* flag, const std::filesystem::path& directory);

/// For what is made after long work: Error now where a file or a link to nothing is in the way, or
/// where the directory or a file in it could not be made for want of permission. Makes nothing.
void require_output_directory(const char* flag, const std::filesystem::path& directory);

}  // namespace nine::app
