#include "cuda/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>
#include <string_view>

#include "core/error.h"
#include "core/matmul_precision.h"

namespace nine::cuda {
namespace {

// True if a variable changes bits with this value. cuBLAS's variables choose algorithms,
// workspaces and emulations; those of its log do not, and neither do the places of its files, which
// build systems read.
bool changes_bits(std::string_view name, std::string_view value) {
  if (value.empty()) return false;
  if (name.starts_with("CUBLAS_") || name.starts_with("CUBLASLT_")) {
    constexpr std::string_view kPlaces[] = {"_ROOT", "_HOME",    "_PATH",
                                            "_DIR",  "_INCLUDE", "_LIBRARIES"};
    return name.find("LOG") == std::string_view::npos &&
           std::none_of(std::begin(kPlaces), std::end(kPlaces),
                        [&](std::string_view end) { return name.ends_with(end); });
  }
  // The driver compiles the PTX instead of taking nvcc's code.
  if (name == "CUDA_FORCE_PTX_JIT" || name == "CUDA_FORCE_JIT") return value != "0";
  // Other products of the output layer (core/bf16_product.h).
  if (name == "NINE_CUDA_PIECES") return value != "high";
  // An LSTM's loop adds in another order.
  if (name == "NINE_CUDA_SIDE_BY_SIDE") return value == "0";
  // A part of the multiprocessors: another variant of the loop, other algorithms of cuBLAS.
  return name == "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE" || name == "NVIDIA_TF32_OVERRIDE";
}

}  // namespace

std::string settings_that_change_bits() {
  std::set<std::string> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view setting(*entry);
    const size_t equals = setting.find('=');
    if (equals != std::string_view::npos &&
        changes_bits(setting.substr(0, equals), setting.substr(equals + 1)))
      found.emplace(setting);
  }
  std::string text;
  for (const std::string& setting : found) text += (text.empty() ? "" : ", ") + setting;
  return text;
}

void require_promised_precision() {
  static const bool rounds = [] {
    const char* value = std::getenv("NVIDIA_TF32_OVERRIDE");
    return value != nullptr && std::string_view(value) == "1";
  }();
  require(!rounds || matmul_precision() != MatmulPrecision::highest,
          "NVIDIA_TF32_OVERRIDE=1 lets cuBLAS round the factors of products to 11 bits, and "
          "--matmul-precision highest promises 24: unset the variable, or choose the precision "
          "high");
}

}  // namespace nine::cuda
