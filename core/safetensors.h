// The safetensors file format: u64 little-endian header length, JSON header padded with spaces to 8
// bytes, data without holes (https://github.com/huggingface/safetensors#format).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace nine {

/// A file's tensors by name and its `__metadata__`.
struct Safetensors {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;

  /// The tensor of that name; an Error that lists the names there are.
  const Tensor& at(const std::string& name) const;
};

/// What is to be written: views (of any device; float32, float64, bfloat16, int32) under their
/// names. Columns of a matrix and other views with a leading dimension are written row by row; the
/// file always holds them without gaps.
struct NamedView {
  std::string name;
  View view;
};

/// Size and checksum of a file as written.
struct FileDigest {
  uint64_t bytes = 0;
  uint32_t crc32c = 0;

  friend bool operator==(const FileDigest&, const FileDigest&) = default;
};

/// Writes the file in the order given (header keys keep that order), fsyncs it, and returns its
/// digest. An Error (no space left, a name twice, a tensor on a GPU) may leave an incomplete file,
/// which read_safetensors refuses.
FileDigest write_safetensors(const std::filesystem::path& file,
                             const std::vector<NamedView>& tensors,
                             const std::map<std::string, std::string>& metadata = {});

/// Reads a file into owned CPU tensors. Strict: bounds, overlaps, holes, sizes, dtype and duplicate
/// names are checked before a byte of data is trusted; every failure is an Error that names the
/// file and the tensor. Reads F32, F64, BF16, I32, and converts F16 to float32 and I64 to int32 (an
/// Error where a value does not fit).
Safetensors read_safetensors(const std::filesystem::path& file);

/// A file written from front to back, its digest computed on the way. Every call throws an Error
/// that names the file when the system refuses (no space left, no permission, ...).
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path file);  ///< creates the file or empties it
  ~OutputFile();  ///< closes; without finish() the file may be incomplete
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* data, size_t size);
  /// Hands the rest to the disk, waits until it is there (fsync), closes.
  FileDigest finish();

 private:
  void flush();
  void write_out(const std::byte* data, size_t size);
  [[noreturn]] void fail_writing(int error) const;

  std::filesystem::path file_;
  int descriptor_ = -1;
  FileDigest digest_;
  std::vector<std::byte> buffer_;
};

}  // namespace nine
