#include "tests/cuda_on_host/probe.h"

#include "cuda/launch.cuh"

namespace cuda_on_host {
namespace {

using namespace nine::cuda;

CudaDevice& device() { return CudaDevice::of(0); }

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
  double* out = device().scratch<double>(1);
  launch(device(), "probe", sum_kernel, dim3(1), dim3(256), 256 * sizeof(double), with_barrier,
         out);
  double sum = 0;
  device().download(out, 8, &sum, 8, 8, 1);
  return sum;
}
void probe_divergent_barrier() {
  launch(device(), "probe", divergent_barrier_kernel, dim3(1), dim3(128), 0);
}
void probe_divergent_warp() {
  launch(device(), "probe", divergent_warp_kernel, dim3(1), dim3(32), 0);
}
void probe_shared_overrun() {
  launch(device(), "probe", write_kernel, dim3(1), dim3(32), 16, static_cast<char*>(nullptr), 16);
}
void probe_host_address() {
  static char memory[64];
  char* volatile p = memory;
  launch(device(), "probe", write_kernel, dim3(1), dim3(32), 0, static_cast<char*>(p), 0);
}
void probe_block_overrun() {
  void* p = nine::cuda::allocate(100, 0);
  launch(device(), "probe", write_kernel, dim3(1), dim3(32), 0, static_cast<char*>(p), 100);
  nine::cuda::check("probe", cudaFree(p));
}
int probe_graph() {
  int* p = device().scratch<int>(1);
  nine::cuda::check("probe", cudaMemsetAsync(p, 0, sizeof(int), device().stream()));
  for (int i = 0; i < 3; ++i)
    device().run_graph("probe",
                       [&] { launch(device(), "probe", count_kernel, dim3(1), dim3(32), 0, p); });
  int n = 0;
  device().download(p, sizeof n, &n, sizeof n, sizeof n, 1);
  return n;
}

}  // namespace cuda_on_host
