// The safetensors file format (https://github.com/huggingface/safetensors#format): the length of
// the header (8 bytes, little-endian), a JSON header padded with spaces to a multiple of 8 bytes,
// and the tensors' data without gaps.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/file_digest.h"
#include "core/tensor.h"

namespace nine {

/// A file's tensors by name, and its `__metadata__`.
struct Safetensors {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;

  /// Returns the tensor of that name. Error: the file lacks it; the message lists the file's names.
  const Tensor& at(const std::string& name) const;
};

/// A tensor to write: a view of any dtype but int64 and bool, on any device. The file holds the
/// elements without gaps, even if the view has gaps between rows.
struct NamedView {
  std::string name;
  View view;
};

/// Writes the tensors in the given order, waits until the file is on disk (fsync), and returns the
/// file's digest. Errors (no space left, a repeated name, ...) may leave an incomplete file, which
/// read_safetensors() refuses.
FileDigest write_safetensors(const std::filesystem::path& file,
                             const std::vector<NamedView>& tensors,
                             const std::map<std::string, std::string>& metadata = {});

/// The answer of kind_of_file() for a file that torch.save wrote.
inline constexpr std::string_view kPickle = "a pickle of Python's, as torch.save writes it";
/// Returns a phrase for messages that names the format of a file by its first bytes: kPickle, "a
/// zip archive; unpack it with `unzip`", ... Empty for an unknown format, for a safetensors file,
/// damaged or not, and for a file that cannot be read.
std::string_view kind_of_file(const std::filesystem::path& file);
/// True if a file begins as a safetensors file does, with the length of a header and "{". False if
/// the file cannot be read.
bool begins_as_safetensors(const std::filesystem::path& file);

/// Reads a file into tensors on the CPU. F32, F64, BF16 and I32 keep their type; F16 becomes
/// float32, and I64 becomes int32. Bounds, overlaps, gaps, sizes, dtypes and duplicate names are
/// checked before any data is read. Every Error names the file and the tensor, or the kind of the
/// file (kind_of_file). Errors: no such file; not a safetensors file, or a damaged one; another
/// dtype; more than six dimensions; an I64 value that does not fit int32. A tensor of BOOL or U8
/// whose name is `left_out` is checked, but not read.
Safetensors read_safetensors(const std::filesystem::path& file,
                             const std::function<bool(std::string_view name)>& left_out = {});
/// Returns the dtype of a tensor in a file that read_safetensors() has read, such as F16.
std::string dtype_in_file(const std::filesystem::path& file, const std::string& tensor);

}  // namespace nine
