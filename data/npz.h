// NumPy's .npz (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html): a zip
// archive of .npy files, stored or deflated, as numpy.savez and Marian write it.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/tensor.h"

namespace nine {

/// The arrays of a file by their names, which lack the `.npy` of the archive.
struct Npz {
  std::map<std::string, Tensor> tensors;     ///< arrays of numbers, as float32 or float64
  std::map<std::string, std::string> texts;  ///< arrays of bytes
};

/// Reads a file. Arrays of float16 become float32. Every size and checksum is checked before memory
/// is taken for it. Errors name the file and the array: no such file; not a zip archive, or a
/// damaged one; one of 4 GiB or more (zip64); an encrypted or otherwise packed member; a repeated
/// name; a header of .npy that is damaged; another type than floating numbers and bytes; more than
/// four dimensions, or a dimension of 0; an array in Fortran's order that is no matrix.
Npz read_npz(const std::filesystem::path& path);

}  // namespace nine
