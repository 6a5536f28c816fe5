// Helpers for writing kernels: launching them, matrices, shared memory, checked indices, sums
// over a warp or a block in a fixed order, and elementwise kernels.
//
// nvcc compiles the sources of cuda/ as CUDA. tests/cuda_on_host compiles them as plain C++ to test
// them without a GPU, so that they launch kernels only through launch() and get shared memory only
// from shared_memory().
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/error.h"
#include "core/random.h"  // NINE_HD
#include "core/tensor.h"
#include "cuda/device.cuh"

// Marks functions that run on the device only.
#ifdef __CUDACC__
#define NINE_D __device__
#else
#define NINE_D
#endif

namespace nine::cuda {

inline constexpr int kWarp = 32;
inline constexpr int kBlock = 256;  ///< threads of a block, for most kernels

/// Launches a kernel on the device's stream; a grid without blocks does nothing. `shared` is the
/// bytes of shared memory of a block.
template <class... P, class... A>
void launch(CudaDevice& device, const char* op, void (*kernel)(P...), dim3 grid, dim3 block,
            size_t shared, const A&... args) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
#ifdef __CUDACC__
  kernel<<<grid, block, shared, device.stream()>>>(static_cast<P>(args)...);
#else
  cuda_on_host::launch_kernel(op, device.stream(), kernel, grid, block, shared, args...);
#endif
  check(op, cudaGetLastError());
}

/// How many blocks of a kernel the device runs side by side; 0: a block has more shared memory than
/// it can have, or blocks cannot wait for each other there.
template <class... P>
int64_t blocks_side_by_side(CudaDevice& device, const char* op, void (*kernel)(P...), int threads,
                            size_t shared) {
  if (shared > static_cast<size_t>(device.attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)) ||
      device.attribute(cudaDevAttrCooperativeLaunch) == 0)
    return 0;
  int blocks = 0;  // of a multiprocessor
  check(op, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(shared)));
  check(op, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared));
  return int64_t{blocks} * device.attribute(cudaDevAttrMultiProcessorCount);
}

/// Launches a kernel whose blocks run side by side, and may wait for each other by grid_barrier.
/// There are no more of them than blocks_side_by_side(), which was called with these arguments.
template <class... P>
void launch_side_by_side(CudaDevice& device, const char* op, void (*kernel)(P...), dim3 grid,
                         dim3 block, size_t shared, P... args) {
#ifdef __CUDACC__
  void* all[] = {&args...};
  check(op, cudaLaunchCooperativeKernel(kernel, grid, block, all, shared, device.stream()));
#else
  cuda_on_host::launch_kernel<true>(op, device.stream(), kernel, grid, block, shared, args...);
  check(op, cudaGetLastError());
#endif
}

/// Waits until all threads of the grid have come here; they see each other's stores then. All must
/// call it, in a kernel that launch_side_by_side() has launched; `arrived` is the device's
/// grid_barrier().
NINE_D inline void grid_barrier([[maybe_unused]] unsigned* arrived) {
#ifdef __CUDACC__
  // All blocks but the first add 1, which adds what is missing to half of the range: so the highest
  // bit changes when all have come, and nothing has to be set back.
  constexpr unsigned kHalf = 0x80000000u;
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
    const bool first = blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0;
    __threadfence();
    const unsigned before =
        atomicAdd(arrived, first ? kHalf - (gridDim.x * gridDim.y * gridDim.z - 1) : 1);
    while (((before ^ *static_cast<volatile unsigned*>(arrived)) & kHalf) == 0) {
    }
    __threadfence();
  }
  __syncthreads();
#else
  cuda_on_host::sync_grid();
#endif
}

/// So many blocks as the first dimension of a grid. Error: more than CUDA has room for.
inline unsigned grid_size(int64_t blocks) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  require(blocks <= kMost, "a kernel would have ", blocks, " blocks, and CUDA has room for ", kMost,
          ": use a smaller batch, or one that is cut into several");
  return static_cast<unsigned>(blocks);
}
/// ceil(n / d) as a grid's dimension.
inline unsigned blocks_of(int64_t n, int64_t d) { return grid_size((n + d - 1) / d); }

/// A block's shared memory.
template <class T>
NINE_D T* shared_memory() {
#ifdef __CUDACC__
  extern __shared__ __align__(16) unsigned char nine_shared[];
  return reinterpret_cast<T*>(nine_shared);
#else
  return static_cast<T*>(cuda_on_host::shared_memory());
#endif
}

/// The index of a thread in a grid of one dimension.
NINE_D inline int64_t thread_index() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

/// A view in the form that kernels take: row-major, with ld elements from one row to the next.
template <class T>
struct Matrix {
  T* data = nullptr;
  int64_t rows = 0, cols = 0, ld = 0;

  Matrix() = default;
  explicit Matrix(const View& v)
      : data(static_cast<T*>(v.data)), rows(v.rows()), cols(v.cols()), ld(v.ld) {}
  NINE_D T* row(int64_t r) const { return data + r * ld; }
  NINE_D T& at(int64_t r, int64_t c) const { return data[r * ld + c]; }
};

/// y = x or, with `add`, y += x.
template <class T>
NINE_D void put(bool add, T& y, T x) {
  y = add ? y + x : x;
}

/// Reports a wrong index to the host; of several the one with the lowest position is kept.
NINE_D inline void report(const IndexErrors& to, int64_t position, int32_t value, int64_t low,
                          int64_t limit) {
  atomicExch(&to.errors->low[to.op], static_cast<unsigned long long>(low));
  atomicExch(&to.errors->limit[to.op], static_cast<unsigned long long>(limit));
  atomicMin(&to.errors->first[to.op],
            static_cast<unsigned long long>(position) << 32 | static_cast<uint32_t>(value));
}
/// ids[position] if it is in [low, limit). Otherwise it is reported to the host and `low` is
/// returned. `first` is the position of ids[0] in the op's whole input, for the report.
NINE_D inline int32_t checked(const int32_t* ids, int64_t position, int64_t low, int64_t limit,
                              const IndexErrors& errors, int64_t first = 0) {
  const int32_t id = ids[position];
  if (id >= low && id < limit) return id;
  report(errors, first + position, id, low, limit);
  return static_cast<int32_t>(low);
}

// Sums and maxima over the threads of a warp or a block. All of its threads must call them, and all
// have the result. The order of a sum is fixed.
template <class T>
NINE_D T warp_sum(T x) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2) x += __shfl_xor_sync(0xffffffffu, x, mask);
  return x;
}
template <class T>
NINE_D T warp_max(T x) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, x, mask);
    x = other > x ? other : x;
  }
  return x;
}
/// Bytes of shared memory that block_sum and block_max need in a block of `threads` threads.
inline size_t block_sum_bytes(int threads) {
  return static_cast<size_t>(threads / kWarp) * sizeof(double);
}
/// For blocks of one dimension. `shared` has block_sum_bytes() bytes, and may be used for something
/// else after the next barrier.
template <class T>
NINE_D T block_sum(T x, void* shared) {
  T* warps = static_cast<T*>(shared);
  const int warp = static_cast<int>(threadIdx.x) / kWarp,
            count = static_cast<int>(blockDim.x) / kWarp;
  x = warp_sum(x);
  __syncthreads();  // other threads may still be reading the values of an earlier call
  if (threadIdx.x % kWarp == 0) warps[warp] = x;
  __syncthreads();
  T sum = warps[0];
  for (int i = 1; i < count; ++i) sum += warps[i];
  return sum;
}
template <class T>
NINE_D T block_max(T x, void* shared) {
  T* warps = static_cast<T*>(shared);
  const int warp = static_cast<int>(threadIdx.x) / kWarp,
            count = static_cast<int>(blockDim.x) / kWarp;
  x = warp_max(x);
  __syncthreads();
  if (threadIdx.x % kWarp == 0) warps[warp] = x;
  __syncthreads();
  T top = warps[0];
  for (int i = 1; i < count; ++i) top = warps[i] > top ? warps[i] : top;
  return top;
}

// --- elementwise kernels

/// Calls f(r, c) for each element of a plane, in one thread for each.
template <class F>
__global__ void each_kernel(int64_t rows, int64_t cols, F f) {
  const int64_t stride = static_cast<int64_t>(gridDim.y) * blockDim.y,
                c = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  for (int64_t r = static_cast<int64_t>(blockIdx.y) * blockDim.y + threadIdx.y; r < rows;
       r += stride)
    f(r, c);
}

/// The rows and columns that an elementwise kernel loops over.
struct Plane {
  int64_t rows, cols;
};
/// The plane of views of equal shape: a single row if all are contiguous.
inline Plane plane_of(std::initializer_list<const View*> views) {
  const View& v = **views.begin();
  const bool flat =
      std::all_of(views.begin(), views.end(), [](const View* x) { return !*x || x->contiguous(); });
  return flat ? Plane{1, v.elements()} : Plane{v.rows(), v.cols()};
}

/// Calls f(r, c) on the device for all elements of a plane. f is a functor that is copied there.
template <class F>
void each(CudaDevice& device, const char* op, Plane p, const F& f) {
  if (p.rows == 0 || p.cols == 0) return;
  constexpr int64_t kMaxRowBlocks = 32768;  // beyond that a thread computes several elements
  const bool wide = p.rows == 1 || p.cols >= kBlock;
  const dim3 block = wide ? dim3(kBlock, 1) : dim3(kWarp, kBlock / kWarp);
  launch(device, op, each_kernel<F>,
         dim3(blocks_of(p.cols, block.x),
              static_cast<unsigned>(std::min<int64_t>(kMaxRowBlocks, blocks_of(p.rows, block.y)))),
         block, 0, p.rows, p.cols, f);
}

}  // namespace nine::cuda
