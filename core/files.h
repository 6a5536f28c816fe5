// Small files that survive a crash: written beside and renamed, or fsynced in place. Every failure
// is an Error that names the file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/safetensors.h"

namespace nine {

/// The whole file, byte for byte; reads pipes too.
std::string read_text(const std::filesystem::path& file);

/// Writes and fsyncs the file in place: for files of a directory that becomes visible as a whole
/// later.
FileDigest write_text(const std::filesystem::path& file, std::string_view text);

/// Whether a device or a pipe is there: written in place, never replaced, and without content to
/// lose.
bool is_device_or_pipe(const std::filesystem::path& path);

/// Replaces the file in one step: readers see the old text or the new one, whenever the program is
/// killed. A link stays, what it points to is replaced; a device or a pipe is written.
void atomic_write_text(const std::filesystem::path& file, std::string_view text);

/// Size and CRC32C of a file on disk.
FileDigest digest_of_file(const std::filesystem::path& file);

/// Waits until the directory's entries (files made, renamed, removed in it) are on disk.
void fsync_dir(const std::filesystem::path& directory);

/// Points the symbolic link at `target` in one step. An Error when something else than a link has
/// its name.
void replace_symlink(const std::filesystem::path& link, const std::filesystem::path& target);

}  // namespace nine
