// The CUDA backend: how programs install it and choose its settings.
#pragma once

namespace nine::cuda {

/// Fills CUDA's op table (core/op_table.h), after which tensors and the ops of core can use CUDA
/// devices. Programs and tests call nine::install_cuda() (kernels/install_cuda.h) instead, which
/// calls this and installs the head's ops too. Using such a device is an Error in a build without
/// CUDA ("this build has no CUDA: ...") and on a machine without driver or GPU.
void install();

/// Whether this build has the CUDA backend.
bool built();

/// The number of GPUs that can be used: 0 in a build without CUDA and on a machine without driver.
int devices();

}  // namespace nine::cuda
