// The one file that calls MPI. It is a module of its own, loaded by core/mpi_communicator.cpp when
// a program was started by mpirun, so that no program needs MPI to be installed.
#include <mpi.h>
#include <sched.h>

#include <ctime>

#include "core/mpi_module.h"

namespace {

char g_text[MPI_MAX_ERROR_STRING + 1] = "";

const char* text_of(int error) {
  int length = 0;
  if (MPI_Error_string(error, g_text, &length) != MPI_SUCCESS) length = 0;
  g_text[length] = '\0';
  return g_text;
}

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

const char* start(int* rank, int* size) {
  int provided = 0;
  int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  if (error == MPI_SUCCESS) error = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (error == MPI_SUCCESS) error = MPI_Comm_rank(MPI_COMM_WORLD, rank);
  if (error == MPI_SUCCESS) error = MPI_Comm_size(MPI_COMM_WORLD, size);
  return error == MPI_SUCCESS ? nullptr : text_of(error);
}

// MPI only makes progress while it is called. Other processes of a busy machine get the core
// between the calls, and after a moment the wait costs next to nothing.
int wait(MPI_Request* requests, int count, double seconds) {
  constexpr double kSpin = 0.002;
  const double begin = now();
  for (;;) {
    int done = 0;
    const int error = MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE);
    if (error != MPI_SUCCESS) {
      text_of(error);
      return kNineMpiFailed;
    }
    if (done) return kNineMpiDone;
    const double waited = now() - begin;
    if (waited > seconds) return kNineMpiTimeout;
    if (waited < kSpin) {
      sched_yield();
    } else {
      const timespec pause{0, 50000};
      nanosleep(&pause, nullptr);
    }
  }
}

int transfer(int to, const void* send, int64_t send_bytes, int from, void* receive,
             int64_t receive_bytes, double seconds) {
  MPI_Request requests[2];
  int count = 0, error = MPI_SUCCESS;
  if (receive_bytes > 0)
    error = MPI_Irecv(receive, static_cast<int>(receive_bytes), MPI_BYTE, from, 0, MPI_COMM_WORLD,
                      &requests[count++]);
  if (error == MPI_SUCCESS && send_bytes > 0)
    error = MPI_Isend(send, static_cast<int>(send_bytes), MPI_BYTE, to, 0, MPI_COMM_WORLD,
                      &requests[count++]);
  if (error != MPI_SUCCESS) {
    text_of(error);
    return kNineMpiFailed;
  }
  return wait(requests, count, seconds);
}

const char* last_error() { return g_text; }
void finish() { MPI_Finalize(); }
void abort_all(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

constexpr NineMpiFunctions kFunctions{start, transfer, last_error, finish, abort_all};

}  // namespace

extern "C" const NineMpiFunctions* nine_mpi_functions() { return &kFunctions; }
