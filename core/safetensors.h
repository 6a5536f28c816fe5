// The safetensors file format (https://github.com/huggingface/safetensors#format): the length of
// the header (8 bytes, little-endian), a JSON header padded with spaces to a multiple of 8 bytes,
// and the tensors' data without gaps.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/file_digest.h"
#include "core/tensor.h"

namespace nine {

/// A file's tensors by name and its `__metadata__`.
struct Safetensors {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;

  /// The tensor of that name. Error: there is none; it lists the names that there are.
  const Tensor& at(const std::string& name) const;
};

/// A tensor to be written: a view of any dtype, on any device. The file holds it without gaps, also
/// where the view has some between its rows.
struct NamedView {
  std::string name;
  View view;
};

/// Writes the tensors in the given order, waits until the file is on disk (fsync), and returns its
/// digest. An Error (no space left, a name twice, ...) may leave an incomplete file, which
/// read_safetensors refuses.
FileDigest write_safetensors(const std::filesystem::path& file,
                             const std::vector<NamedView>& tensors,
                             const std::map<std::string, std::string>& metadata = {});

/// What kind_of_file() says of what torch.save wrote.
inline constexpr std::string_view kPickle = "a pickle of Python's, as torch.save writes it";
/// What a file is by its first bytes where it is no safetensors file: kPickle, "a zip archive;
/// unpack it with `unzip`" ... Empty: unknown, or a safetensors file, damaged or not.
std::string_view kind_of_file(const std::filesystem::path& file);

/// Reads a file into tensors on the CPU. Bounds, overlaps, gaps, sizes, dtypes and duplicate names
/// are checked before any data is read; every failure is an Error that names the file and the
/// tensor, or what the file is (kind_of_file). F32, F64, BF16 and I32 are read as they are; F16 is
/// converted to float32 and I64 to int32 (Error: a value that does not fit).
Safetensors read_safetensors(const std::filesystem::path& file);

}  // namespace nine
