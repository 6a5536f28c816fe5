// Makes CUDA usable in a program: one call at its start.
#pragma once

namespace nine {

/// Installs the CUDA backend: the op table of core and the head's. Afterwards Device{cuda} can be
/// used where this build has CUDA and the machine a GPU. In a build without CUDA every use of such
/// a device is an Error, "this build has no CUDA: ..."; without a driver or a GPU it is one that
/// says so. To be called once, before the first op; programs, tests and benchmarks do so at the
/// beginning of main. Defined in kernels/cuda/: link Nine::nine (or Nine::kernels_cuda).
void install_cuda();

}  // namespace nine
