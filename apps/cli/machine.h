// The flags --threads, --device and --matmul-precision, which say where and how a program computes.
#pragma once

#include <functional>
#include <string>

#include "apps/cli/options.h"
#include "core/communicator.h"
#include "core/device.h"
#include "core/matmul_precision.h"

namespace nine::app {

/// Declares --threads, bound to `threads`. 0 means OMP_NUM_THREADS if it is set, otherwise all
/// physical cores.
void add_threads(Options& options, int& threads);
/// Declares --device, bound to `device`: "cpu", "cuda" or "cuda:1".
void add_device(Options& options, std::string& device);

/// Declares --matmul-precision, bound to `precision`, and its older name --precision.
void add_matmul_precision(Options& options, MatmulPrecision& precision);

/// The values of these flags.
struct MachineFlags {
  int threads = 0;
  std::string device = "cpu";
  MatmulPrecision precision = MatmulPrecision::highest;
  bool team = true;            ///< false: each loop is a parallel region of its own, without a team
  double mpi_timeout_s = 600;  ///< for on_machines()
};
/// Installs the CUDA backend, sets the number of threads and the precision of matrix products, and
/// returns the result of `body` for the device. `body` runs in a team of these threads
/// (core/threads.h) unless `team` is false. Programs must not create tensors before this call.
/// Errors: an invalid text of a device; a device that this machine does not have; those of
/// require_one_process().
int on_machine(const MachineFlags& flags, const std::function<int(Device)>& body);
/// Does the same for a program that several processes can run together (apps/cli/processes.h).
int on_machines(const MachineFlags& flags, const std::function<int(Device, Communicator&)>& body);

/// Declares --mpi-timeout, bound to `seconds`.
void add_mpi_timeout(Options& options, double& seconds);

}  // namespace nine::app
