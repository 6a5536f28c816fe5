// A directory on a command line that a program writes into: --run, --tensorboard, --export-parity,
// and lm_rescore's --output.
#pragma once

#include <filesystem>
#include <span>

namespace nine::app {

/// Makes the directory and its parents where they are missing. Error, which names the flag: a file
/// or a link to nothing is in the way, or the directory cannot be made. Whether it can be written
/// is not looked at.
void make_output_directory(const char* flag, const std::filesystem::path& directory);

/// For what is made after long work: Error now where a file or a link to nothing is in the way, or
/// where the directory or a file in it could not be made for want of permission. Makes nothing.
void require_output_directory(const char* flag, const std::filesystem::path& directory);

/// Error: `directory` is a checkpoint, or lies within a run's checkpoints.
void require_outside_of_checkpoints(const char* flag, const std::filesystem::path& directory);

/// Error: `directory` is a run, a checkpoint or another model, or lies within a run's checkpoints,
/// where other files would be taken for the run's own or replace them.
void require_no_run(const char* flag, const std::filesystem::path& directory);

/// Error: one of the files that are to be written into the directory is itself a directory, or
/// leads to a place that cannot be written. To be called after require_output_directory().
void require_output_files(const char* flag, const std::filesystem::path& directory,
                          std::span<const char* const> names);

}  // namespace nine::app
