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
void probe_misaligned();
/// A product of cuBLAS's with one wrong argument: "lda", "alignment", "range", "card", "host".
void probe_wrong_product(const char* what);

}  // namespace cuda_on_host
