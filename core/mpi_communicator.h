// The processes that mpirun started (docs/scale-out.md).
#pragma once

#include <memory>

#include "core/communicator.h"

namespace nine {

/// Returns the number of processes that mpirun (or a compatible starter) has started with this
/// process, according to the environment; 1 without a starter. Loads nothing of MPI.
int processes_started();
/// Returns the environment variable with this number; null if no such variable is set.
const char* size_variable();
/// Returns the number of this process among them, from 0.
int process_number();

/// A communicator over MPI.
class MpiCommunicator : public Communicator {
 public:
  /// Ends all processes at once.
  virtual void abort(int code) = 0;
  /// Waits until every rank calls finish(), at the end of the work.
  virtual void finish() = 0;

 protected:
  using Communicator::Communicator;
};

/// Loads MPI and joins the other processes. A rank that waits for another rank longer than
/// `timeout_s` throws an Error that names it. MPI itself waits without a limit until all processes
/// have started. Errors: this build has no MPI; Open MPI is not installed; MPI does not start.
/// UsageError: another program of Nine has joined the others in this process, which MPI allows
/// once.
std::unique_ptr<MpiCommunicator> start_mpi(double timeout_s);

}  // namespace nine
