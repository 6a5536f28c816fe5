#include "tests/cuda_on_host/probe.h"

#include "cuda/launch.cuh"

namespace cuda_on_host {
namespace {

using namespace nine::cuda;

CudaDevice& card() { return CudaDevice::of(0); }

// The last thread adds up what all have written.
__global__ void sum_kernel(bool with_barrier, double* out) {
  double* shared = nine::cuda::shared_memory<double>();
  shared[threadIdx.x] = threadIdx.x;
  if (with_barrier) __syncthreads();
  if (threadIdx.x != 0) return;
  double sum = 0;
  for (unsigned i = 0; i < blockDim.x; ++i) sum += shared[i];
  *out = sum;
}
__global__ void divergent_barrier_kernel() {
  if (threadIdx.x < 64) __syncthreads();
}
__global__ void divergent_warp_kernel() {
  if (threadIdx.x % 2 == 0) __syncwarp();
}
__global__ void write_kernel(char* p, int at) {
  if (threadIdx.x == 0) (p != nullptr ? p : nine::cuda::shared_memory<char>())[at] = 1;
}
__global__ void count_kernel(int* p) {
  if (threadIdx.x == 0) ++*p;
}

}  // namespace

double probe_sum(bool with_barrier) {
  double* out = card().scratch<double>(1);
  launch(card(), "probe", sum_kernel, dim3(1), dim3(256), 256 * sizeof(double), with_barrier, out);
  double sum = 0;
  card().download(out, 8, &sum, 8, 8, 1);
  return sum;
}
void probe_divergent_barrier() {
  launch(card(), "probe", divergent_barrier_kernel, dim3(1), dim3(128), 0);
}
void probe_divergent_warp() {
  launch(card(), "probe", divergent_warp_kernel, dim3(1), dim3(32), 0);
}
void probe_shared_overrun() {
  launch(card(), "probe", write_kernel, dim3(1), dim3(32), 16, static_cast<char*>(nullptr), 16);
}
void probe_host_address() {
  static char host[64];
  char* volatile p = host;
  launch(card(), "probe", write_kernel, dim3(1), dim3(32), 0, static_cast<char*>(p), 0);
}
void probe_block_overrun() {
  void* p = nine::cuda::allocate(100, 0);
  launch(card(), "probe", write_kernel, dim3(1), dim3(32), 0, static_cast<char*>(p), 100);
  nine::cuda::check("probe", cudaFree(p));
}
int probe_graph() {
  int* p = card().scratch<int>(1);
  nine::cuda::check("probe", cudaMemsetAsync(p, 0, sizeof(int), card().stream()));
  for (int i = 0; i < 3; ++i)
    card().run_graph("probe",
                     [&] { launch(card(), "probe", count_kernel, dim3(1), dim3(32), 0, p); });
  int n = 0;
  card().download(p, sizeof n, &n, sizeof n, sizeof n, 1);
  return n;
}

}  // namespace cuda_on_host
