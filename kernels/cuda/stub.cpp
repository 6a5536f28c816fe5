// Replaces the .cu files of kernels/ in a build without CUDA.
#include "cuda/cuda.h"
#include "kernels/install_cuda.h"
#include "kernels/loss/cuda/spare_bytes.h"

namespace nine {

// In this build cuda::install() installs a table that refuses every use of a CUDA device.
void install_cuda() { cuda::install(); }

void cuda::set_head_spare_bytes(int64_t) {}

}  // namespace nine
