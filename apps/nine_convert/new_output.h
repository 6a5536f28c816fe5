// Outputs that are complete or absent.
#pragma once

#include <filesystem>
#include <functional>

namespace nine::app {

/// Error: something has the name `path` already, or its parent cannot be written, or `path` lies
/// within a run's checkpoints. Messages name the flag. Makes nothing.
void require_new(const char* flag, const std::filesystem::path& path);

/// Calls `write` with a new directory beside `path`, and then gives this directory the name `path`.
/// After an Error of `write`, removes the directory. Errors: those of require_new() and `write`.
void write_new_directory(const char* flag, const std::filesystem::path& path,
                         const std::function<void(const std::filesystem::path&)>& write);
/// Does the same for a file, which `write` makes and brings to disk.
void write_new_file(const char* flag, const std::filesystem::path& path,
                    const std::function<void(const std::filesystem::path&)>& write);

}  // namespace nine::app
