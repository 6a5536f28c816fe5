// What stands in for kernels/cuda/*.cu in a build without CUDA.
#include "cuda/cuda.h"
#include "kernels/cuda/spare_bytes.h"
#include "kernels/install_cuda.h"

namespace nine {

void install_cuda() { cuda::install(); }  // whose table refuses every use of such a device

void cuda::set_head_spare_bytes(int64_t) {}

}  // namespace nine
