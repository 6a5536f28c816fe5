#include "apps/cli/machine.h"

#include "apps/cli/processes.h"
#include "core/bf16_product.h"
#include "core/instruction_set.h"
#include "core/notice.h"
#include "core/tensor.h"
#include "core/threads.h"
#include "cuda/cuda.h"
#include "cuda/environment.h"
#include "kernels/install_cuda.h"

namespace nine::app {

void add_threads(Options& options, int& threads) {
  options
      .add("threads", threads,
           "number of threads; 0: OMP_NUM_THREADS if it is set, otherwise all physical cores")
      .range(0, 4096)
      .default_text("0")
      .called("threads");
}

void add_device(Options& options, std::string& device) {
  options.add("device", device, "device that computes")
      .unit("cpu|cuda[:i]")
      .check([](const std::string& text) { device_from_text(text); })
      .called("the device");
}

void add_matmul_precision(Options& options, MatmulPrecision& precision) {
  options
      .add("matmul-precision", precision,
           "precision of float32 matrix products: highest keeps all 24 bits of a number, high 16 "
           "and medium 8. high and medium are faster on a CPU with AMX and on CUDA (TF32, "
           "bfloat16), medium also on a CPU with AVX512-BF16")
      .called("matmul precision")
      .older_name("precision", {{"fp32", "highest"}, {"tf32", "high"}, {"bf16", "medium"}});
}

void add_mpi_timeout(Options& options, double& seconds) {
  options
      .add("mpi-timeout", seconds,
           "under mpirun: end the run if a process waits longer than this for another process")
      .above(0)
      .unit("seconds")
      .called("the MPI timeout");
}

namespace {

int compute(const MachineFlags& flags, int threads, const std::function<int(Device)>& body) {
  instruction_set();  // an error of NINE_ISA now, before there is work to lose
  bf16::loops();      // and of NINE_BF16_TILES
  install_cuda();
  set_matmul_precision(flags.precision);
  set_threads(threads);
  const Device device = device_from_text(flags.device);
  if (device.kind != DeviceKind::cpu) {
    // Gives errors now and not at the first product: of NINE_CUDA_PIECES, and if the device is not
    // available.
    bf16::pieces_on_gpu();
    static_cast<void>(Tensor({1}, DType::float32, device));
    cuda::require_promised_precision();
  }
  if (!flags.team) return body(device);
  int code = 0;
  in_team([&] { code = body(device); });
  return code;
}

}  // namespace

int on_machine(const MachineFlags& flags, const std::function<int(Device)>& body) {
  require_one_process();
  return compute(flags, flags.threads > 0 ? flags.threads : nine::default_threads(), body);
}

int on_machines(const MachineFlags& flags, const std::function<int(Device, Communicator&)>& body) {
  return with_processes(flags.mpi_timeout_s, [&](Communicator& communicator) {
    if (!communicator.first()) set_notices([](const std::string&) {});  // rank 0 says them
    const int own = app::default_threads(communicator);
    return compute(flags, flags.threads > 0 ? flags.threads : own,
                   [&](Device device) { return body(device, communicator); });
  });
}

}  // namespace nine::app
