// The processes that mpirun started, as a program sees them (docs/scale-out.md).
#pragma once

#include <functional>
#include <string>

#include "core/communicator.h"

namespace nine::app {

/// UsageError: another rank runs another `program`, a name and a version, than rank 0. Their
/// messages would not fit each other.
void require_same_program(Communicator& communicator, const std::string& program);

/// Runs `body` with the processes that mpirun started, joined through MPI, or alone without mpirun.
/// After `body` has returned, waits for the other processes. A rank throws if it waits for another
/// rank longer than `timeout_s`. Errors: those of start_mpi and of require_same_program.
int with_processes(double timeout_s, const std::function<int(Communicator&)>& body);

/// The exception of require_one_process() in all processes except the first. Only the first process
/// prints the reason. The others end silently after a moment, so that mpirun does not end the first
/// process before it has printed.
struct RefusedByFirst {};

/// Checks that a program that cannot share its work runs in one process. UsageError: mpirun has
/// started it in several processes, which would all do the whole work and write the same files. A
/// program that a process of the job starts, directly or through a shell, is allowed, because its
/// parent is not mpirun.
void require_one_process();

/// True if this is rank 0, which prints the messages that concern all ranks, and without mpirun.
bool first_process();

/// Ends all joined processes after a failure, for run_main. Only rank 0 reports a failure that rank
/// 0 has too: the other ranks wait for a moment before they report.
void before_report_of_failure();
void after_report_of_failure(int code);

/// Returns the name of this machine; "?" if it has no name.
std::string host_name();

/// Returns the default number of threads of this process: OMP_NUM_THREADS if it is set. Otherwise
/// it is the number of cores that the process may use, divided among the processes of this machine
/// that may use the same cores.
int default_threads(Communicator& communicator);

}  // namespace nine::app
