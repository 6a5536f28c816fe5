// Makes CUDA usable in a program; call it once at the start.
#pragma once

namespace nine {

/// Installs the CUDA implementation of all ops. Call it once, before the first op; programs, tests
/// and benchmarks call it at the beginning of main. Afterwards Device{DeviceKind::cuda} works if
/// this build has CUDA and the machine has a GPU. Otherwise every use of a CUDA device is an Error:
/// "this build has no CUDA: ..." in a build without CUDA, or a message that the driver or the GPU
/// is missing. Defined in kernels/cuda/: link Nine::nine (or Nine::kernels_cuda).
void install_cuda();

}  // namespace nine
