#include "kernels/scores/cuda/head_kernels_impl.cuh"

namespace nine::cuda {

template struct HeadKernel<float>;

}  // namespace nine::cuda
