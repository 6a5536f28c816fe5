#include "tests/support/processes.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/support.h"

namespace nine::tests {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMpirun = "/usr/bin/mpirun";

}  // namespace

bool has_mpirun() {
  const bool there = fs::exists(kMpirun) &&
                     fs::exists(fs::path(NINE_BIN_DIR).parent_path() / "lib/nine/nine_mpi.so");
#ifdef NINE_WITH_MPI
  REQUIRE_MESSAGE(there, "this build has MPI, and mpirun or lib/nine/nine_mpi.so is missing");
#endif
  if (!there) skip("no mpirun, or a build without MPI");
  return there;
}

Program under_mpirun(int processes, const std::string& program,
                     const std::vector<std::string>& arguments, const MpiStart& start) {
  std::vector<std::string> all{"-n",
                               std::to_string(processes),
                               "--oversubscribe",
                               "--bind-to",
                               "none",
                               "--mca",
                               "pml",
                               "ob1",
                               "--mca",
                               "btl",
                               start.shared ? "self,vader" : "self,tcp",
                               "--mca",
                               "btl_tcp_if_include",
                               "lo",
                               "--mca",
                               "oob_tcp_if_include",
                               "lo"};
  all.push_back(fs::path(NINE_BIN_DIR) / program);
  all.insert(all.end(), arguments.begin(), arguments.end());
  all.insert(all.end(), {"--threads", "1"});
  return Program(kMpirun, all, start.input, [] {
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    // A sanitizer would report what Open MPI itself never frees; a user's options come last and
    // win.
    const char* own = std::getenv("ASAN_OPTIONS");
    setenv("ASAN_OPTIONS", concat("detect_leaks=0", own ? concat(":", own) : "").c_str(), 1);
  });
}

std::vector<std::string> with_second(std::vector<std::string> arguments, const std::string& program,
                                     const std::vector<std::string>& second,
                                     const std::vector<std::string>& environment) {
  arguments.insert(arguments.end(), {"--threads", "1", ":", "-n", "1", "/usr/bin/env"});
  arguments.insert(arguments.end(), environment.begin(), environment.end());
  arguments.push_back(fs::path(NINE_BIN_DIR) / program);
  arguments.insert(arguments.end(), second.begin(), second.end());
  return arguments;
}

int process_of_rank(const Program& mpirun, int rank) {
  const std::string children =
      slurp(concat("/proc/", mpirun.id(), "/task/", mpirun.id(), "/children"));
  const std::string mark = concat("OMPI_COMM_WORLD_RANK=", rank);
  for (size_t at = 0; at < children.size();) {
    const size_t end = std::min(children.find(' ', at), children.size());
    const std::string id = children.substr(at, end - at);
    at = end + 1;
    const std::string environment = '\0' + slurp("/proc/" + id + "/environ");
    if (environment.find('\0' + mark + '\0') != std::string::npos) return std::stoi(id);
  }
  return 0;
}

}  // namespace nine::tests
