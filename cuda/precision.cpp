#include "core/error.h"
#include "cuda/cuda.h"

namespace nine::cuda {

Precision precision_from_text(std::string_view name) {
  if (name == "fp32") return Precision::fp32;
  if (name == "tf32") return Precision::tf32;
  if (name == "bf16") return Precision::bf16;
  throw UsageError(concat("matmul precision ", name, ": fp32, tf32 or bf16"));
}

}  // namespace nine::cuda
