// The CUDA backend: how programs install it and choose its settings.
#pragma once

#include <string>

namespace nine::cuda {

/// Fills CUDA's op table (core/op_table.h), after which tensors and the ops of core can use CUDA
/// devices. Programs and tests call nine::install_cuda() (kernels/install_cuda.h) instead, which
/// calls this and installs the head's ops too. Using such a device is an Error in a build without
/// CUDA ("this build has no CUDA: ...") and on a machine without driver or GPU.
void install();

/// Whether this build has the CUDA backend.
bool built();

/// Turns CUDA graphs on or off; they are on at first, unless the environment has
/// NINE_CUDA_GRAPHS=0. Results are the same bits.
void use_graphs(bool on);

/// Whether an LSTM's loop over time may be one kernel whose blocks run side by side and wait for
/// each other, where they fit on the GPU; or a product and a kernel for each time step. It may at
/// first, unless the environment has NINE_CUDA_SIDE_BY_SIDE=0. Results differ by rounding.
void use_side_by_side(bool on);

/// The number of GPUs that can be used: 0 in a build without CUDA and on a machine without driver.
int devices();

/// What a GPU computes with: the bits of its results depend on all of it.
struct Description {
  std::string gpu;      ///< "NVIDIA H100 80GB HBM3, compute capability 9.0"
  std::string driver;   ///< "580.65.06, CUDA 13.0"; without the first where the system hides it
  std::string runtime;  ///< "CUDA 13.0", which this build has in it
  std::string cublas;   ///< "cuBLAS 13.1.0"
  int multiprocessors;  ///< that this process may use: fewer than the GPU's under MIG and MPS
};
/// The GPU with this index. Error: there is none, or no cuBLAS.
Description describe(int index);

}  // namespace nine::cuda
