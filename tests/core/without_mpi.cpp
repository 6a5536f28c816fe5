// A build without MPI under mpirun: core/mpi_communicator.cpp compiled as there, in this program.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "apps/cli/processes.h"
#include "core/error.h"

namespace {

int failures = 0;

void check(bool good, const char* what) {
  if (good) return;
  std::printf("failed: %s\n", what);
  ++failures;
}

// Whether a program's work began; `message` becomes its error.
bool begins(const char* processes, std::string& message) {
  if (processes != nullptr) {
    setenv("OMPI_COMM_WORLD_SIZE", processes, 1);
  } else {
    unsetenv("OMPI_COMM_WORLD_SIZE");
  }
  bool begun = false;
  message.clear();
  try {
    nine::app::with_processes(1, [&](nine::Communicator& c) {
      begun = c.size() == 1;
      return 0;
    });
  } catch (const nine::Error& e) {
    message = e.what();
  }
  return begun;
}

}  // namespace

int main() {
  std::string message;
  unsetenv("PMI_SIZE");
  check(begins(nullptr, message) && message.empty(), "without mpirun it works");
  check(begins("1", message) && message.empty(), "one process works");
  check(!begins("2", message), "two processes do not begin");
  check(message.find("mpirun has started 2 processes, but this build has no MPI") == 0,
        "the error says why");
  return failures == 0 ? 0 : 1;
}
