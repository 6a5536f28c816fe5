// What the module that calls MPI (mpi/mpi_module.cpp) offers to the program that loads it: plain C,
// so that the module needs nothing of the program.
#pragma once

#include <cstdint>

extern "C" {

/// How a message ended.
enum NineMpiResult : int { kNineMpiDone = 0, kNineMpiTimeout = 1, kNineMpiFailed = 2 };

/// The module's functions. Texts are valid until the next call.
struct NineMpiFunctions {
  /// MPI_Init. Returns null, or why it failed.
  const char* (*start)(int* rank, int* size);
  /// Sends and receives at the same time; 0 bytes: not that side. Waits at most so many seconds.
  int (*transfer)(int to, const void* send, int64_t send_bytes, int from, void* receive,
                  int64_t receive_bytes, double seconds);
  /// Why the last transfer failed.
  const char* (*error)();
  void (*finish)();
  /// Ends all processes.
  void (*abort)(int code);
};

/// The one symbol that is looked up.
const NineMpiFunctions* nine_mpi_functions();
}
