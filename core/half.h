// IEEE 754 half precision, float16, which files of other programs have. Nine does not compute with
// it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/safetensors.h"

namespace nine {

/// Returns the number of these bits, which float32 represents exactly.
float float_of_half(uint16_t half);
/// Returns the nearest float16, ties to even. A number of 65,520 or more becomes infinite. A NaN
/// becomes a quiet NaN.
uint16_t half_of_float(float x);

/// Does what write_safetensors() does, and stores every float32 tensor as F16. Further error: a
/// finite number that float16 does not hold.
FileDigest write_half_safetensors(const std::filesystem::path& file,
                                  const std::vector<NamedView>& tensors,
                                  const std::map<std::string, std::string>& metadata = {});

}  // namespace nine
