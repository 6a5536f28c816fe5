// Checkpoints that somebody changed who knows the format.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/json.h"

namespace nine::tests {

/// Writes a checkpoint's state.json anew after `edit`, with the sizes and checksums of the files
/// that it then lists as they are on disk.
void seal(const std::filesystem::path& checkpoint, const std::function<void(Json&)>& edit = {});

/// Puts a number into a tensor of a checkpoint's file, and seals the checkpoint.
void change_tensor(const std::filesystem::path& checkpoint, const std::string& file,
                   const std::string& tensor, int64_t element, double value);

}  // namespace nine::tests
