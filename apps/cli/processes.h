// The processes that mpirun started, as a program sees them (docs/scale-out.md).
#pragma once

#include <functional>
#include <string>

#include "core/communicator.h"

namespace nine::app {

/// Runs `body` with the processes that mpirun started, joined through MPI, or alone without mpirun.
/// When it has returned, waits for the others. A rank that waits for another one longer than
/// `timeout_s` throws. Errors: start_mpi's.
int with_processes(double timeout_s, const std::function<int(Communicator&)>& body);

/// What require_one_process() throws in all processes but the first, which alone says why: the
/// others end without a word, after a moment, so that mpirun does not end the first before it
/// spoke.
struct RefusedByFirst {};

/// For a program that cannot share its work. UsageError: mpirun has started it in more than one
/// process, and each would do all of it, into the same files. A program that a process of such a
/// job starts, itself or through a shell, is not meant: its parent is no mpirun.
void require_one_process();

/// Whether this is rank 0, which prints what concerns all: true without mpirun.
bool first_process();

/// What run_main does with a failure while processes are joined: ends all of them. A failure that
/// rank 0 has too is reported by rank 0 alone: the others wait for a moment before they report.
void before_report_of_failure();
void after_report_of_failure(int code);

/// This machine's name, "?" where it has none.
std::string host_name();

/// The threads of this process unless it was told: OMP_NUM_THREADS, else the cores that it may use,
/// shared with the processes of the same machine that may use the same cores.
int default_threads(Communicator& communicator);

}  // namespace nine::app
