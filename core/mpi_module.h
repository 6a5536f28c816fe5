// The functions that the MPI module (mpi/mpi_module.cpp) offers to the program that loads it. They
// are plain C, so that the module needs no symbol of the program.
#pragma once

#include <cstdint>

extern "C" {

/// The result of a message.
enum NineMpiResult : int { kNineMpiDone = 0, kNineMpiTimeout = 1, kNineMpiFailed = 2 };

/// The module's functions. Texts are valid until the next call.
struct NineMpiFunctions {
  /// Calls MPI_Init. Returns null, or the reason of a failure.
  const char* (*start)(int* rank, int* size);
  /// Sends and receives at the same time; 0 bytes: no message in that direction. Waits at most
  /// `seconds`. Returns a NineMpiResult.
  int (*transfer)(int to, const void* send, int64_t send_bytes, int from, void* receive,
                  int64_t receive_bytes, double seconds);
  /// Returns the reason of the last transfer's failure.
  const char* (*error)();
  void (*finish)();
  /// Ends all processes.
  void (*abort)(int code);
};

/// Returns the functions. This is the one symbol that the program looks up.
const NineMpiFunctions* nine_mpi_functions();
}
