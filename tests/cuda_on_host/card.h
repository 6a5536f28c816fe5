// The cards of the stand-in, and what tests ask of them.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda_on_host/cuda_runtime.h"
#include "tests/cuda_on_host/memory.h"

namespace cuda_on_host {

inline constexpr int kCards = 2;

/// Its streams share one queue: all work runs in the order in which it was submitted.
struct Card {
  CardMemory memory;
  std::deque<Work> queue;
  std::exception_ptr late;  // what went wrong where it could not be thrown
};
Card& card(int index);
/// Of cudaSetDevice.
int current_card();
/// The card that has this address; null: the host.
Card* card_of(const void* p);
int64_t api_calls();
int64_t graphs_launched();
int64_t live_graphs();  // ready to be launched
int64_t allocations();  // of device memory
/// Runs what waits, in order. An error is kept in `late`, and the work after it is lost.
void drain(Card& card);
/// Throws what drain() kept.
void rethrow_late(Card& card);
/// Whether some stream captures: much is forbidden then.
bool captures();
/// Bytes of shared memory that a block of this kernel may have.
size_t most_shared(const void* function);
/// Blocks of so many bytes that a card runs side by side.
size_t blocks_at_once(size_t shared);
/// Counts a call of the API; an error: it is the one that is to fail.
cudaError_t enter();
cudaError_t failed(cudaError_t error);  // remembered for cudaGetLastError
/// Whether these bytes are page-locked memory of the host.
bool page_locked(const void* p, size_t bytes);

// --- for tests

/// The order of threads and blocks follows this seed.
void set_seed(uint64_t seed);
/// Kernels run, barriers of blocks and of grids passed, graphs launched and calls of the API so
/// far.
struct Counts {
  int64_t launches = 0, barriers = 0, grid_barriers = 0, graphs = 0, calls = 0, allocations = 0,
          live_graphs = 0;
};
Counts counts();
/// Lets the n-th call of the API from now on fail (1: the next one); 0: none. NINE_STAND_IN_FAIL in
/// the environment does so from the beginning.
void fail_call(int64_t n);
/// The streams that waited for an event since the last call, behind the stream that recorded it.
std::vector<std::pair<cudaStream_t, cudaStream_t>> take_orders();
/// How many blocks fit on a card.
struct CardSize {
  int multiprocessors = 20;
  size_t shared = 228 << 10;       // of a multiprocessor
  size_t most_shared = 227 << 10;  // of a block
};
void set_card_size(const CardSize& size);
/// What a card is called: NINE_STAND_IN_GPU in the environment, or this.
void set_card_name(const std::string& name);

}  // namespace cuda_on_host

/// The first line of a call of the API.
#define NINE_ENTER() \
  if (const cudaError_t injected = cuda_on_host::enter(); injected != cudaSuccess) return injected
