#include "apps/cli/processes.h"

#include <sched.h>
#include <unistd.h>

#include <cerrno>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "apps/cli/run_main.h"
#include "core/error.h"
#include "core/mpi_communicator.h"
#include "core/threads.h"
#include "core/version.h"

namespace nine::app {
namespace {

std::unique_ptr<MpiCommunicator> g_mpi;

// This machine's name and the cores that the process may use.
std::string place() {
  std::string out = host_name() + ":";
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return out;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &mask)) out += " " + std::to_string(cpu);
  return out;
}

// Speaks while MPI starts, which waits without a bound until every process of the job starts it,
// and ends this process after the MPI timeout.
class StartWatch {
 public:
  explicit StartWatch(double timeout_s) : thread_([this, timeout_s] { watch(timeout_s); }) {}
  ~StartWatch() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

 private:
  void watch(double timeout_s) {
    const double first = std::min(30.0, timeout_s / 2);
    if (over_within(first)) return;
    say(first, concat(". All of them must run a program that shares its work. The wait ends after ",
                      timeout_s, " s (--mpi-timeout)"));
    if (over_within(timeout_s - first)) return;
    say(timeout_s, concat(" (--mpi-timeout). Start this program in all of them, or in this one "
                          "alone: put 'env -u ",
                          size_variable(), "' before its name"));
    _exit(kExitFailed);  // the main thread is inside of MPI
  }
  bool over_within(double seconds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return over_; });
  }
  static void say(double seconds, const std::string& end) {
    std::fprintf(stderr, "%s: process %d of %d has waited %s s for MPI to start%s\n",
                 program_invocation_short_name, process_number(), processes_started(),
                 shortest(seconds).c_str(), end.c_str());
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

// Whether mpirun started several programs in this job ("mpirun -n 1 a : -n 1 b"), as Open MPI says.
bool job_of_several_programs() {
  const char* programs = std::getenv("OMPI_NUM_APP_CTX");
  return programs != nullptr && std::atoi(programs) > 1;
}

// Whether this process is the first of those that mpirun started with its program.
bool first_of_program() {
  const char* numbers = std::getenv("OMPI_APP_CTX_NUM_PROCS");  // of processes, program by program
  if (!job_of_several_programs() || numbers == nullptr) return first_process();
  std::istringstream in(numbers);
  int first = 0;
  for (int count = 0; first < process_number() && in >> count;) first += count;
  return first == process_number();
}

// Whether the process that started this one is itself a process of an MPI job, so that this one is
// not. False where that cannot be seen.
bool started_by_process_of_job() {
  std::ifstream file("/proc/" + std::to_string(getppid()) + "/environ", std::ios::binary);
  for (std::string variable; std::getline(file, variable, '\0');)
    if (variable.starts_with("OMPI_COMM_WORLD_SIZE=") || variable.starts_with("PMI_SIZE="))
      return true;
  return false;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

void require_same_program(Communicator& communicator, const std::string& program) {
  const std::vector<std::string> all = communicator.all_gather(program);
  for (size_t r = 1; r < all.size(); ++r)
    if (all[r] != all[0])
      fail_usage("process ", r, " of ", all.size(), " runs ", all[r], ", and process 0 runs ",
                 all[0],
                 ": the processes of a job share the work of one program; start each program with ",
                 "its own mpirun");
}

int with_processes(double timeout_s, const std::function<int(Communicator&)>& body) {
  if (processes_started() <= 1) return body(one_process());
  {
    const StartWatch watch(timeout_s);
    g_mpi = start_mpi(timeout_s);
  }
  require_same_program(*g_mpi, concat(program_invocation_short_name, " ", kVersion));
  const int code = body(*g_mpi);
  g_mpi->finish();
  g_mpi.reset();
  return code;
}

void require_one_process() {
  if (processes_started() <= 1 || started_by_process_of_job()) return;
  if (!first_of_program()) throw RefusedByFirst();
  throw UsageError(concat(
      "mpirun has started ", processes_started(), " processes, but this work cannot be shared out",
      job_of_several_programs()
          ? concat(", and other programs of the job would wait for it; start it without mpirun, or "
                   "put 'env -u ",
                   size_variable(), "' before its name")
          : std::string(": each would do all of it; start it without mpirun, or with -n 1")));
}

bool first_process() { return processes_started() <= 1 || process_number() == 0; }

void before_report_of_failure() {
  if (!first_process()) std::this_thread::sleep_for(std::chrono::seconds(1));
}

void after_report_of_failure(int code) {
  if (g_mpi) g_mpi->abort(code);
}

int default_threads(Communicator& communicator) {
  const int alone = nine::default_threads();
  if (communicator.size() == 1) return alone;
  const std::string own = place();
  const std::vector<std::string> all = communicator.all_gather(own);
  if (std::getenv("OMP_NUM_THREADS") != nullptr) return alone;
  const auto here = std::max<std::ptrdiff_t>(1, std::count(all.begin(), all.end(), own));
  return std::max(1, alone / static_cast<int>(here));
}

}  // namespace nine::app
