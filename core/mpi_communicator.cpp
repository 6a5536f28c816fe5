#include "core/mpi_communicator.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/error.h"
#include "core/mpi_module.h"

namespace nine {
namespace {

// Returns the name of the variable that is set; null if neither is.
const char* set_variable(const char* open_mpi, const char* mpich) {
  for (const char* name : {open_mpi, mpich})
    if (const char* text = std::getenv(name); text != nullptr && *text != '\0') return name;
  return nullptr;
}

int from_environment(const char* name, int otherwise) {
  const char* const text = name != nullptr ? std::getenv(name) : nullptr;
  return text != nullptr ? std::atoi(text) : otherwise;
}

#ifdef NINE_MPI_LIBRARY
constexpr const char* kInstallOpenMpi =
    "install Open MPI (Debian: openmpi-bin), the version that this was built with";

void* load(const std::string& file, int flags, std::string_view help) {
  void* library = dlopen(file.c_str(), flags);
  if (library == nullptr)
    fail("mpirun has started ", processes_started(),
         " processes, but MPI cannot be loaded: ", dlerror(), "; ", help);
  return library;
}

std::filesystem::path program_file() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

// bin/lm_train finds lib/nine/nine_mpi.so, in a build's folder and where it is installed.
const NineMpiFunctions& load_module() {
  load(NINE_MPI_LIBRARY, RTLD_NOW | RTLD_GLOBAL, kInstallOpenMpi);  // for its own modules, too
  std::error_code error;
  const auto program = program_file();
  const auto file = program.parent_path().parent_path() / "lib/nine/nine_mpi.so";
  void* module =
      load(file, RTLD_NOW | RTLD_LOCAL,
           std::filesystem::exists(file, error)
               ? kInstallOpenMpi
               : concat("that file belongs to Nine; it must stand beside the directory of ",
                        program.string(), ": copy it there too, or install Nine again"));
  const auto functions =
      reinterpret_cast<const NineMpiFunctions* (*)()>(dlsym(module, "nine_mpi_functions"));
  require(functions != nullptr, "lib/nine/nine_mpi.so is not Nine's module for MPI: install again");
  return *functions();
}

// Returns the file that says which program of this process has joined the others. It is in mpirun's
// directory, which mpirun removes. Empty if the environment does not name this directory.
std::filesystem::path joined_file() {
  const char *directory = std::getenv("PMIX_SERVER_TMPDIR"), *job = std::getenv("PMIX_NAMESPACE");
  if (directory == nullptr || job == nullptr) return {};
  return std::filesystem::path(directory) / concat("nine.", job, ".", process_number());
}

// Refuses a second program of one process, because Open MPI would end it with Open MPI's message.
void require_first_program() {
  std::string program;
  if (!std::getline(std::ifstream(joined_file()), program)) return;
  fail_usage("MPI lets process ", process_number(), " of ", processes_started(),
             " join the others only once, and ", program,
             " has joined already. Start each program with its own mpirun, or run this program "
             "alone: put 'env -u ",
             size_variable(), "' before its name");
}

class Mpi : public MpiCommunicator {
 public:
  Mpi(const NineMpiFunctions& functions, int rank, int size, double timeout_s)
      : MpiCommunicator(rank, size), functions_(functions), timeout_s_(timeout_s) {}
  void abort(int code) override { functions_.abort(code); }
  void finish() override { functions_.finish(); }

 private:
  void transfer(int to, const void* send, int64_t send_bytes, int from, void* receive,
                int64_t receive_bytes) override {
    const int result =
        functions_.transfer(to, send, send_bytes, from, receive, receive_bytes, timeout_s_);
    if (result == kNineMpiDone) return;
    const int other = receive_bytes > 0 ? from : to;
    require(result != kNineMpiTimeout, "process ", rank(), " of ", size(),
            " has waited for process ", other, " for ", timeout_s_,
            " s, the MPI timeout: that process hangs, or its network; the same command resumes a "
            "run from its last checkpoint");
    fail("process ", rank(), " of ", size(), " cannot exchange data with process ", other,
         ", which may have ended, or may run another program or version: ", functions_.error());
  }

  const NineMpiFunctions& functions_;
  double timeout_s_;
};
#endif

}  // namespace

// The first variable is Open MPI's. The second is set by MPICH and by others that use its process
// manager.
const char* size_variable() { return set_variable("OMPI_COMM_WORLD_SIZE", "PMI_SIZE"); }
int processes_started() { return from_environment(size_variable(), 1); }
int process_number() {
  return from_environment(set_variable("OMPI_COMM_WORLD_RANK", "PMI_RANK"), 0);
}

#ifdef NINE_MPI_LIBRARY
std::unique_ptr<MpiCommunicator> start_mpi(double timeout_s) {
  const NineMpiFunctions& functions = load_module();
  require_first_program();
  int rank = 0, size = 1;
  const char* problem = functions.start(&rank, &size);
  require(problem == nullptr, "MPI does not start: ", problem != nullptr ? problem : "");
  std::ofstream(joined_file()) << program_file().filename().string() << '\n';
  return std::make_unique<Mpi>(functions, rank, size, timeout_s);
}
#else
std::unique_ptr<MpiCommunicator> start_mpi(double) {
  fail("mpirun has started ", processes_started(),
       " processes, but this build has no MPI, so each process would train alone: configure Nine "
       "where Open MPI is installed (Debian: libopenmpi-dev), or start the program without mpirun");
}
#endif

}  // namespace nine
