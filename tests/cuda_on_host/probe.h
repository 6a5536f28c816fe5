// Kernels that do something wrong, for the test of the stand-in.
#pragma once

namespace cuda_on_host {

double probe_sum(bool with_barrier);
void probe_divergent_barrier();
void probe_divergent_warp();
void probe_shared_overrun();
void probe_host_address();
void probe_block_overrun();
int probe_graph();

}  // namespace cuda_on_host
