#include "apps/cli/machine.h"

#include "core/tensor.h"
#include "core/threads.h"
#include "cuda/cuda.h"
#include "kernels/install_cuda.h"

namespace nine::app {

void add_threads(Options& options, int& threads) {
  options.add("threads", threads, "0: all physical cores")
      .range(0, 4096)
      .default_text("physical cores")
      .called("threads");
}

void add_device(Options& options, std::string& device) {
  options.add("device", device, "where to compute")
      .unit("cpu|cuda[:i]")
      .check([](const std::string& text) { device_from_text(text); })
      .called("the device");
}

Device use_machine(int threads, const std::string& device, const std::string& precision) {
  install_cuda();
  cuda::set_precision(enum_from_text<cuda::Precision>(precision));
  set_threads(threads > 0 ? threads : physical_cores());
  const Device d = device_from_text(device);
  if (d.kind != DeviceKind::cpu)
    Tensor({1}, DType::float32, d);  // an error now if the device is not available
  return d;
}

}  // namespace nine::app
