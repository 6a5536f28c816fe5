#include "core/mpi_communicator.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/error.h"
#include "core/mpi_module.h"

namespace nine {
namespace {

// Open MPI; MPICH and those that use its process manager.
int from_environment(const char* open_mpi, const char* mpich, int otherwise) {
  for (const char* name : {open_mpi, mpich})
    if (const char* text = std::getenv(name); text != nullptr && *text != '\0')
      return std::atoi(text);
  return otherwise;
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

// bin/lm_train finds lib/nine/nine_mpi.so, in a build's folder and where it is installed.
const NineMpiFunctions& load_module() {
  load(NINE_MPI_LIBRARY, RTLD_NOW | RTLD_GLOBAL, kInstallOpenMpi);  // for its own modules, too
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto file = program.parent_path().parent_path() / "lib/nine/nine_mpi.so";
  void* module = load(file, RTLD_NOW | RTLD_LOCAL,
                      std::filesystem::exists(file, error)
                          ? kInstallOpenMpi
                          : concat("that file is Nine's own and belongs beside the directory of ",
                                   program.string(), ": copy it there too, or install Nine again"));
  const auto functions =
      reinterpret_cast<const NineMpiFunctions* (*)()>(dlsym(module, "nine_mpi_functions"));
  require(functions != nullptr, "lib/nine/nine_mpi.so is not Nine's module for MPI: install again");
  return *functions();
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
            " s, the MPI timeout: it hangs, or its network does; a run goes on from its last "
            "checkpoint by the same command");
    fail("process ", rank(), " of ", size(), " cannot exchange data with process ", other, ": ",
         functions_.error());
  }

  const NineMpiFunctions& functions_;
  double timeout_s_;
};
#endif

}  // namespace

int processes_started() { return from_environment("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", 1); }
int process_number() { return from_environment("OMPI_COMM_WORLD_RANK", "PMI_RANK", 0); }

#ifdef NINE_MPI_LIBRARY
std::unique_ptr<MpiCommunicator> start_mpi(double timeout_s) {
  const NineMpiFunctions& functions = load_module();
  int rank = 0, size = 1;
  const char* problem = functions.start(&rank, &size);
  require(problem == nullptr, "MPI does not start: ", problem != nullptr ? problem : "");
  return std::make_unique<Mpi>(functions, rank, size, timeout_s);
}
#else
std::unique_ptr<MpiCommunicator> start_mpi(double) {
  fail("mpirun has started ", processes_started(),
       " processes, but this build has no MPI, so that each would train for itself: configure it "
       "where Open MPI is installed (Debian: libopenmpi-dev), or start it without mpirun");
}
#endif

}  // namespace nine
