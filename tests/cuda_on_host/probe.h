// Kernels that do something wrong, for the test of the stand-in.
#pragma once

#include <cstdint>

namespace cuda_on_host {

double probe_sum(bool with_barrier);
void probe_divergent_barrier();
void probe_divergent_warp();
void probe_shared_overrun();
void probe_host_address();
void probe_block_overrun();
int probe_graph();
/// Uses each of so many keys twice, the first one again after every other; the graphs that are
/// kept. Error: the first one's was dropped.
int64_t probe_many_graphs(int keys);

/// Kernels run between a launch and the wait for it: before the wait, and after.
struct Deferred {
  int64_t before, after;
};
Deferred probe_deferred();
/// What arrives of a number in page-locked memory that the host changes before it waits.
int probe_staging_overwritten();
/// What a block of memory has after it was freed and given out again.
float probe_freed();
void probe_overlapping_copy(int64_t rows_apart);
void probe_free_in_capture();
void probe_pageable_copy_in_capture();
void probe_stale_replay();
void probe_other_card();
void probe_other_current_card();
void probe_card_chosen_elsewhere();  // no error: another library made another GPU the current one
void probe_misaligned();
// What only the strict build sees.
/// A tensor of a pool, of 100 numbers: reads or writes number `at` of it. It was written before.
void probe_pool(int64_t at, bool store);
/// A tensor whose Scope has ended; of a block that was freed; of a step that has.
void probe_released_pool(const char* what);
/// A graph that is launched again when its tensor has gone back to the pool.
void probe_stale_pool_replay();
/// A scratch buffer of 100 numbers.
void probe_scratch(int64_t at);
/// Reads what nobody wrote: "kernel", "copy", "product", "shared".
void probe_unwritten(const char* what);
/// Two blocks: "write", "read write", "write read", "read", "atomic", "atomic write", "apart".
void probe_blocks(const char* what);
/// Two threads of a block, with nothing, a shuffle, a barrier of the warp or of the block in
/// between; `apart` is how many threads lie between them.
enum class Between { nothing, shuffle, warp, block };
void probe_threads(Between between, int apart);
/// Eight blocks store a number each and wait for each other; the sum of all that block 0 reads
/// then. "barrier", "none" (they do not wait), "one leaves", "plain launch", "some threads".
int probe_grid(const char* what);
/// A product of cuBLAS's with one wrong argument: "lda", "alignment", "range", "card", "host".
void probe_wrong_product(const char* what);

}  // namespace cuda_on_host
