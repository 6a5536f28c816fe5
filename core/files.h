// Reads and writes small files. A crash leaves the old contents or the new contents. Every failure
// is an Error that names the file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/file_digest.h"

namespace nine {

/// True if there is something at `path`, also a symbolic link that leads nowhere.
bool is_there(const std::filesystem::path& path);

/// Throws an Error if `file` is a symbolic link that leads nowhere, or exists and is neither a
/// regular file nor a link to one. Files of a model or a run are regular files: they are read more
/// than once, and a named pipe would let the program wait without end.
void require_regular_file(const std::filesystem::path& file);

/// Returns the whole file, byte for byte. Error: it is not a regular file.
std::string read_text(const std::filesystem::path& file);
/// Returns all bytes of a file or a pipe; waits for the end of a pipe.
std::string read_text_or_pipe(const std::filesystem::path& file);

/// Writes the file in place and waits until it is on disk (fsync). A crash may leave a part of the
/// file, so use it for files in a new directory that is renamed when complete.
FileDigest write_text(const std::filesystem::path& file, std::string_view text);

/// True if `path` is a device or a pipe, such as /dev/stdout. Such a file is written in place and
/// never replaced.
bool is_device_or_pipe(const std::filesystem::path& path);

/// Returns the file that is written under the name `path`: the target of symbolic links, even if
/// the target does not exist. A link that leads back to itself is returned as it is; no file can be
/// opened there.
std::filesystem::path linked_file(const std::filesystem::path& path);

/// Writes the text to a temporary file beside `path` and renames the file. Readers see the old text
/// or the new text, even if the program is killed. For a symbolic link the function replaces or
/// makes the target. It writes a device or a pipe in place.
void atomic_write_text(const std::filesystem::path& path, std::string_view text);

/// Returns the size and the CRC-32C of a file on disk. Error: it is not a regular file.
FileDigest digest_of_file(const std::filesystem::path& file);

/// Makes the directory and its missing parents.
void make_directories(const std::filesystem::path& directory);

/// Waits until changes of the directory itself (files created, renamed, removed) are on disk.
void fsync_dir(const std::filesystem::path& directory);

/// Makes `link` a symbolic link to `target`, replacing an earlier link in one step. Error: `link`
/// exists and is not a link.
void replace_symlink(const std::filesystem::path& link, const std::filesystem::path& target);

}  // namespace nine
