// What a GPU computes with, for config.json.
#include <fstream>
#include <regex>

#include "core/error.h"
#include "cuda/blas.cuh"
#include "cuda/cuda.h"
#include "cuda/device.cuh"
#include "cuda/turn.cuh"

namespace nine::cuda {
namespace {

// 13000 is CUDA 13.0.
std::string version_text(int v) { return concat("CUDA ", v / 1000, ".", v % 1000 / 10); }

// CUDA only knows which version of itself the driver is for; its own is in a file of Linux's:
// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 ...".
std::string driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::smatch found;
  if (std::getline(file, line) && std::regex_search(line, found, std::regex("[0-9]+(\\.[0-9]+)+")))
    return found.str() + ", ";
  return {};
}

}  // namespace

Description describe(int index) {
  const Turn turn;
  CudaDevice& device = CudaDevice::of(index);
  cudaDeviceProp properties{};
  int driver = 0, runtime = 0;
  check("device", cudaGetDeviceProperties(&properties, index));
  check("device", cudaDriverGetVersion(&driver));
  check("device", cudaRuntimeGetVersion(&runtime));
  return {concat(static_cast<const char*>(properties.name), ", compute capability ",
                 properties.major, ".", properties.minor),
          driver_version() + version_text(driver), version_text(runtime), blas_description(device),
          device.attribute(cudaDevAttrMultiProcessorCount)};
}

}  // namespace nine::cuda
