// Stands in for CUDA's runtime so that cuda/*.cu compile as plain C++ and run without a GPU: what
// those files use, with the same names and meanings, and with checks (docs/cuda.md). One block runs
// after another; a block's threads are fibers that run in an order shuffled by a seed, so that a
// missing barrier shows; device memory can be accessed only inside of a kernel or a copy, and new
// memory is full of NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
inline dim3 threadIdx, blockIdx, blockDim, gridDim;  // of the fiber that runs

enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation, cudaErrorInvalidValue };
enum cudaMemcpyKind {
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal };
inline constexpr unsigned cudaStreamNonBlocking = 1;

struct cuda_on_host_graph {
  std::vector<std::function<void()>> work;
};
using cudaStream_t = struct cuda_on_host_stream*;
using cudaGraph_t = cuda_on_host_graph*;
using cudaGraphExec_t = cuda_on_host_graph*;

namespace cuda_on_host {

/// Runs `thread` for all threads of all blocks; or, while a stream captures, keeps that for the
/// graph.
void launch(const char* op, dim3 grid, dim3 block, size_t shared, std::function<void()> thread);
/// Runs `work`, which may access device memory; or keeps it for the graph.
void submit(std::function<void()> work);
/// Within a kernel: the block's shared memory.
void* shared_memory();
/// Within a kernel: waits for the other threads of the block, or of the warp.
void sync_block();
void sync_warp();
/// Within a kernel: the memory through which the lanes of this warp exchange values; lane < 32.
void* lane_slot(unsigned lane);
unsigned lane();
/// Within a kernel: whether `mine` is true in any thread of the block.
bool any_of_block(bool mine);
/// Throws if an argument of a kernel holds an address of the host's memory.
void check_argument(const char* op, const void* bytes, size_t size);

/// The order of threads and blocks follows this seed.
void set_seed(uint64_t seed);
/// Kernels launched and barriers passed so far.
struct Counts {
  int64_t launches = 0, barriers = 0, graphs = 0;
};
Counts counts();

template <class... P, class... A>
void launch_kernel(const char* op, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared,
                   const A&... args) {
  const auto run = [=](P... p) {
#if __has_builtin(__builtin_clear_padding)  // clang 14, which reads this for clang-tidy, has none
    (__builtin_clear_padding(&p), ...);     // holds what lay there before
#endif
    (check_argument(op, &p, sizeof(P)), ...);
    launch(op, grid, block, shared, [=] { kernel(p...); });
  };
  run(static_cast<P>(args)...);
}

}  // namespace cuda_on_host

inline void __syncthreads() { cuda_on_host::sync_block(); }
inline int __syncthreads_or(int value) { return cuda_on_host::any_of_block(value != 0) ? 1 : 0; }
inline void __syncwarp() { cuda_on_host::sync_warp(); }
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  static_assert(sizeof(T) <= 8);
  std::memcpy(cuda_on_host::lane_slot(cuda_on_host::lane()), &value, sizeof value);
  cuda_on_host::sync_warp();
  T other;
  std::memcpy(&other, cuda_on_host::lane_slot(cuda_on_host::lane() ^ static_cast<unsigned>(mask)),
              sizeof other);
  cuda_on_host::sync_warp();
  return other;
}
inline unsigned long long atomicMin(unsigned long long* p, unsigned long long value) {
  const unsigned long long before = *p;
  if (value < before) *p = value;
  return before;
}

const char* cudaGetErrorString(cudaError_t);
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int*);
cudaError_t cudaSetDevice(int);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaMalloc(void**, size_t);
cudaError_t cudaFree(void*);
cudaError_t cudaMallocHost(void**, size_t);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
cudaError_t cudaMemcpyAsync(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t);
cudaError_t cudaMemcpy2DAsync(void*, size_t, const void*, size_t, size_t width, size_t height,
                              cudaMemcpyKind, cudaStream_t);
cudaError_t cudaMemsetAsync(void*, int, size_t, cudaStream_t);
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode);
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long);
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
cudaError_t cudaGraphDestroy(cudaGraph_t);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t);
