// Stands in for CUDA's runtime so that cuda/*.cu compile as plain C++ and run without a GPU: what
// those files use, with the same names and meanings, and with checks (docs/cuda.md). Work waits in
// a queue until the host waits for it. One block runs after another, or those of a cooperative
// launch side by side; a block's threads are fibers that run in an order shuffled by a seed, so
// that a missing barrier shows; device memory can be accessed only inside of a kernel or a copy,
// and new memory is full of NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "tests/cuda_on_host/stream.h"

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
inline dim3 threadIdx, blockIdx, blockDim, gridDim;  // of the fiber that runs

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorUnknown = 999
};
enum cudaMemcpyKind {
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount,
  cudaDevAttrCooperativeLaunch,
  cudaDevAttrMaxSharedMemoryPerBlockOptin
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal };
inline constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2;
struct cudaDeviceProp {
  char name[256];
  int major, minor;
};

struct cuda_on_host_graph {
  std::vector<cuda_on_host::Work> work;
};
using cudaStream_t = struct cuda_on_host_stream*;
struct cuda_on_host_event {
  bool recorded = false, done = false;
  double seconds = 0;
  cudaStream_t stream = nullptr;
};
using cudaGraph_t = cuda_on_host_graph*;
using cudaGraphExec_t = std::shared_ptr<const cuda_on_host_graph>*;
using cudaEvent_t = std::shared_ptr<cuda_on_host_event>*;

namespace cuda_on_host {

struct Kernel {
  const char* op;
  const char* types;     ///< of its parameters
  const void* function;  ///< its address
  bool together;         ///< its blocks run side by side, and may wait for each other
};
/// Queues `thread` for all threads of all blocks; or, while the stream captures, keeps that for the
/// graph.
void launch(const Kernel& kernel, cudaStream_t stream, dim3 grid, dim3 block, size_t shared,
            std::vector<const void*> uses, std::function<void()> thread);
/// The part of launch_kernel's __PRETTY_FUNCTION__ that tells kernels apart; never freed.
const char* types_of(const char* function);
/// Within a kernel: the thread's index in its block.
size_t running_thread();
/// Within a kernel: the block's shared memory.
void* shared_memory();
/// Within a kernel: waits for the other threads of the block, or of the warp; with `memory` they
/// see each other's stores then.
void sync_block();
void sync_warp(bool memory);
/// Within a kernel whose blocks run side by side: waits for the threads of all of them, which then
/// see each other's stores.
void sync_grid();
/// Within a kernel: an atomic access begins, and ends.
void begin_atomic(void* p, size_t bytes);
void end_atomic();
/// From now on so many bytes of a scratch buffer's are used, with undefined contents.
void scratch_given(cudaStream_t stream, void* p, size_t bytes, size_t capacity);
/// Within a kernel: the memory through which the lanes of this warp exchange values; lane < 32.
void* lane_slot(unsigned lane);
unsigned lane();
/// Within a kernel: whether `mine` is true in any thread of the block.
bool any_of_block(bool mine);
/// Adds the addresses of device memory in a kernel's argument to `uses`. Throws if it holds an
/// address of the host's memory, of another card or of a block that is not there.
void check_argument(const char* op, cudaStream_t stream, const void* bytes, size_t size,
                    std::vector<const void*>& uses);

template <class... P>
const void* address_of(void (*kernel)(P...)) {
  return reinterpret_cast<const void*>(kernel);
}
template <bool kTogether = false, class... P, class... A>
void launch_kernel(const char* op, cudaStream_t stream, void (*kernel)(P...), dim3 grid, dim3 block,
                   size_t shared, const A&... args) {
  static const char* const types = types_of(__PRETTY_FUNCTION__);
  const auto run = [=](P... p) {
#if __has_builtin(__builtin_clear_padding)  // clang 14, which reads this for clang-tidy, has none
    (__builtin_clear_padding(&p), ...);     // holds what lay there before
#endif
    std::vector<const void*> uses;
    (check_argument(op, stream, &p, sizeof(P), uses), ...);
    launch({op, types, address_of(kernel), kTogether}, stream, grid, block, shared, std::move(uses),
           [=] { kernel(p...); });
  };
  run(static_cast<P>(args)...);
}

}  // namespace cuda_on_host

inline void __syncthreads() { cuda_on_host::sync_block(); }
inline int __syncthreads_or(int value) { return cuda_on_host::any_of_block(value != 0) ? 1 : 0; }
inline void __syncwarp() { cuda_on_host::sync_warp(true); }
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  static_assert(sizeof(T) <= 8);
  std::memcpy(cuda_on_host::lane_slot(cuda_on_host::lane()), &value, sizeof value);
  cuda_on_host::sync_warp(false);  // of memory a shuffle promises nothing
  T other;
  std::memcpy(&other, cuda_on_host::lane_slot(cuda_on_host::lane() ^ static_cast<unsigned>(mask)),
              sizeof other);
  cuda_on_host::sync_warp(false);
  return other;
}
inline unsigned long long atomicExch(unsigned long long* p, unsigned long long value) {
  cuda_on_host::begin_atomic(p, sizeof *p);
  const unsigned long long before = *p;
  *p = value;
  cuda_on_host::end_atomic();
  return before;
}
inline unsigned long long atomicMin(unsigned long long* p, unsigned long long value) {
  cuda_on_host::begin_atomic(p, sizeof *p);
  const unsigned long long before = *p;
  if (value < before) *p = value;
  cuda_on_host::end_atomic();
  return before;
}

const char* cudaGetErrorString(cudaError_t);
cudaError_t cudaGetLastError();
cudaError_t cudaGetDeviceCount(int*);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp*, int);
cudaError_t cudaDriverGetVersion(int*);
cudaError_t cudaRuntimeGetVersion(int*);
cudaError_t cudaGetDevice(int*);
cudaError_t cudaSetDevice(int);
cudaError_t cudaDeviceGetAttribute(int*, cudaDeviceAttr, int);
namespace cuda_on_host {
cudaError_t let_use_shared(const void* function, int bytes);
cudaError_t count_blocks_at_once(int* blocks, const void* function, size_t shared);
}  // namespace cuda_on_host
template <class... P>
cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute, int bytes) {
  return cuda_on_host::let_use_shared(cuda_on_host::address_of(kernel), bytes);
}
template <class... P>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*kernel)(P...), int,
                                                          size_t shared) {
  return cuda_on_host::count_blocks_at_once(blocks, cuda_on_host::address_of(kernel), shared);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaMalloc(void**, size_t);
cudaError_t cudaFree(void*);
cudaError_t cudaMallocHost(void**, size_t);
cudaError_t cudaFreeHost(void*);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
cudaError_t cudaMemcpyAsync(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t);
cudaError_t cudaMemcpy2DAsync(void*, size_t, const void*, size_t, size_t width, size_t height,
                              cudaMemcpyKind, cudaStream_t);
cudaError_t cudaMemsetAsync(void*, int, size_t, cudaStream_t);
cudaError_t cudaMemset2DAsync(void*, size_t, int, size_t width, size_t height, cudaStream_t);
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode);
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long);
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
cudaError_t cudaGraphDestroy(cudaGraph_t);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned);
cudaError_t cudaEventCreate(cudaEvent_t*);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t);
cudaError_t cudaEventSynchronize(cudaEvent_t);
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t);
