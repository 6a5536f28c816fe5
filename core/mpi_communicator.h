// The processes that mpirun started (docs/scale-out.md).
#pragma once

#include <memory>

#include "core/communicator.h"

namespace nine {

/// How many processes mpirun (or another starter that speaks its language) has started with this
/// one, as the environment says; 1 without it. Nothing of MPI is loaded for that.
int processes_started();
/// The variable that says so, without which this process is alone; null where there is no such one.
const char* size_variable();
/// Which of them this is, from 0.
int process_number();

/// A communicator over MPI.
class MpiCommunicator : public Communicator {
 public:
  /// Ends all processes at once.
  virtual void abort(int code) = 0;
  /// All is done: waits until every rank is here.
  virtual void finish() = 0;

 protected:
  using Communicator::Communicator;
};

/// Loads MPI and joins the other processes. A rank that waits for another one longer than
/// `timeout_s` throws an Error that names it. MPI itself waits until all of them have started,
/// without a bound. Errors: this build has no MPI; Open MPI is not installed; it does not start;
/// UsageError: another program of Nine has joined the others in this process, which MPI allows
/// once.
std::unique_ptr<MpiCommunicator> start_mpi(double timeout_s);

}  // namespace nine
