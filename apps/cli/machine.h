// Where and how a program computes: the flags --threads, --device and --matmul-precision.
#pragma once

#include <functional>
#include <string>

#include "apps/cli/options.h"
#include "core/communicator.h"
#include "core/device.h"
#include "core/matmul_precision.h"

namespace nine::app {

/// Declares --threads, bound to `threads`; 0: OMP_NUM_THREADS, else all physical cores.
void add_threads(Options& options, int& threads);
/// Declares --device, bound to `device`: "cpu", "cuda" or "cuda:1".
void add_device(Options& options, std::string& device);

/// Declares --matmul-precision, bound to `precision`, and its older name --precision.
void add_matmul_precision(Options& options, MatmulPrecision& precision);

/// What those flags say.
struct MachineFlags {
  int threads = 0;
  std::string device = "cpu";
  MatmulPrecision precision = MatmulPrecision::highest;
  bool team = true;  ///< false: a parallel region for each loop, as in a program without a team
  double mpi_timeout_s = 600;  ///< of on_machines()
};
/// Installs the CUDA backend, sets the number of threads and the precision of matrix products, and
/// returns what `body` returns for the device, with a team of those threads open (core/threads.h)
/// unless told otherwise. Programs make no tensor before.
/// Errors: a text of neither form; no such device on this machine; require_one_process()'s.
int on_machine(const MachineFlags& flags, const std::function<int(Device)>& body);
/// The same for a program that several processes can run together (apps/cli/processes.h).
int on_machines(const MachineFlags& flags, const std::function<int(Device, Communicator&)>& body);

/// Declares --mpi-timeout, bound to `seconds`.
void add_mpi_timeout(Options& options, double& seconds);

}  // namespace nine::app
