// Runs of several processes under mpirun, on this machine.
#pragma once

#include <string>
#include <vector>

#include "tests/support/programs.h"

namespace nine::tests {

/// Whether this build has MPI and mpirun is installed. Without, prints that such tests are skipped.
bool has_mpirun();

/// How processes are started.
struct MpiStart {
  bool shared = false;     ///< they exchange through shared memory, not TCP on the loop-back device
  std::string input = {};  ///< mpirun's standard input
};

/// `mpirun -n processes PROGRAM arguments`, one thread each.
Program under_mpirun(int processes, const std::string& program,
                     const std::vector<std::string>& arguments, const MpiStart& start = {});

/// `arguments` for under_mpirun(1, ...) that start a second process, with arguments and environment
/// ("NAME=value") of its own.
std::vector<std::string> with_second(std::vector<std::string> arguments, const std::string& program,
                                     const std::vector<std::string>& second,
                                     const std::vector<std::string>& environment = {});

/// The id of rank `rank`'s process; 0 when there is none.
int process_of_rank(const Program& mpirun, int rank);

}  // namespace nine::tests
