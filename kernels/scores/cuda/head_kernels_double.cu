#include "kernels/scores/cuda/head_kernels_impl.cuh"

namespace nine::cuda {

template struct HeadKernel<double>;

}  // namespace nine::cuda
