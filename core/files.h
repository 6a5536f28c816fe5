// Reading and writing small files so that a crash leaves the old contents or the new ones. Every
// failure is an Error that names the file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/file_digest.h"

namespace nine {

/// The whole file, byte for byte; reads pipes too.
std::string read_text(const std::filesystem::path& file);

/// Writes the file in place and waits until it is on disk (fsync). For files in a new directory
/// that is renamed when it is complete; a crash may leave a part of the file.
FileDigest write_text(const std::filesystem::path& file, std::string_view text);

/// Whether `path` is a device or a pipe, such as /dev/stdout, which is written in place and never
/// replaced.
bool is_device_or_pipe(const std::filesystem::path& path);

/// The file that is written under the name `path`: what symbolic links lead to, whether it is there
/// or not. A link that leads back to itself stays; no file can be opened there.
std::filesystem::path linked_file(const std::filesystem::path& path);

/// Writes the text to a temporary file beside `path` and renames it: readers see the old text or
/// the new one, even if the program is killed. Of a symbolic link the target is replaced or made; a
/// device or a pipe is written in place.
void atomic_write_text(const std::filesystem::path& path, std::string_view text);

/// Size and CRC32C of a file on disk.
FileDigest digest_of_file(const std::filesystem::path& file);

/// Makes the directory and its parents where they are missing.
void make_directories(const std::filesystem::path& directory);

/// Waits until changes of the directory itself (files created, renamed, removed) are on disk.
void fsync_dir(const std::filesystem::path& directory);

/// Makes `link` a symbolic link to `target`, replacing an earlier link in one step. Error: `link`
/// is something else than a link.
void replace_symlink(const std::filesystem::path& link, const std::filesystem::path& target);

}  // namespace nine
