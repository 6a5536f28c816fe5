// The name of a precision, of cuda/cuda.h; the same with and without CUDA.
#include "cuda/cuda.h"

namespace nine::cuda {

Precision precision_from_text(std::string_view name) { return enum_from_text<Precision>(name); }

}  // namespace nine::cuda
