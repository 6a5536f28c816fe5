// Runs of several processes under mpirun, on this machine.
#pragma once

#include <string>
#include <vector>

#include "tests/programs.h"

namespace nine::tests {

/// Whether this build has MPI and mpirun is installed. Without, prints that such tests are skipped.
bool has_mpirun();

/// `mpirun -n processes PROGRAM arguments`, one thread each, on the loop-back device alone;
/// `shared`: through shared memory instead.
Program under_mpirun(int processes, const std::string& program,
                     const std::vector<std::string>& arguments, bool shared = false);

/// The id of rank `rank`'s process; 0 when there is none.
int process_of_rank(const Program& mpirun, int rank);

}  // namespace nine::tests
