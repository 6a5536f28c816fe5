// Starting kernels, and what they are made of: matrices, sums over a warp and a block in a fixed
// order.
//
// The sources of cuda/ are CUDA for nvcc and plain C++ for the stand-in of tests/cuda_on_host,
// hence one function that starts kernels, and shared memory through one accessor.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/random.h"  // NINE_HD
#include "core/tensor.h"
#include "cuda/device.cuh"

#ifdef __CUDACC__
#define NINE_D __device__
#else
#define NINE_D
#endif

namespace nine::cuda {

inline constexpr int kWarp = 32;
inline constexpr int kBlock = 256;  ///< threads of a block unless a kernel says otherwise

/// Starts a kernel on the card's stream. A grid without blocks does nothing.
template <class... P, class... A>
void launch([[maybe_unused]] CudaDevice& card, const char* op, void (*kernel)(P...), dim3 grid,
            dim3 block, size_t shared, const A&... args) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
#ifdef __CUDACC__
  kernel<<<grid, block, shared, card.stream()>>>(static_cast<P>(args)...);
  check(op, cudaGetLastError());
#else
  cuda_on_host::launch_kernel(op, kernel, grid, block, shared, args...);
#endif
}

/// ceil(n / d) as a grid's dimension.
inline unsigned blocks_of(int64_t n, int64_t d) { return static_cast<unsigned>((n + d - 1) / d); }

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

/// The place of a thread in a grid of one dimension.
NINE_D inline int64_t thread_index() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

/// A view as kernels take it.
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

/// Writes over or adds.
template <class T>
NINE_D void put(bool add, T& y, T x) {
  y = add ? y + x : x;
}

NINE_D inline void report(DeviceErrors* board, IndexFault fault, int64_t position, int32_t value,
                          int64_t low, int64_t limit) {
  const int i = static_cast<int>(fault);
  board->low[i] = low;
  board->limit[i] = limit;
  atomicMin(&board->first[i],
            static_cast<unsigned long long>(position) << 32 | static_cast<uint32_t>(value));
}
/// The index at `position`, or, reported to the host, `low` or 0 where it is outside of [low,
/// limit). `first`: what ids[0] is for the reader of the report.
NINE_D inline int32_t checked(const int32_t* ids, int64_t position, int64_t low, int64_t limit,
                              DeviceErrors* board, IndexFault fault, int64_t first = 0) {
  const int32_t id = ids[position];
  if (id >= low && id < limit) return id;
  report(board, fault, first + position, id, low, limit);
  return static_cast<int32_t>(low);
}

// Sums in which every thread takes part and of which every thread has the result; the order is that
// of the lanes.
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
/// Bytes of shared memory that block_sum and block_max take, for a block of `threads`.
inline size_t block_sum_bytes(int threads) {
  return static_cast<size_t>(threads / kWarp) * sizeof(double);
}
/// Of a block of one dimension; `shared` is free again after the next barrier.
template <class T>
NINE_D T block_sum(T x, void* shared) {
  T* warps = static_cast<T*>(shared);
  const int warp = static_cast<int>(threadIdx.x) / kWarp,
            count = static_cast<int>(blockDim.x) / kWarp;
  x = warp_sum(x);
  __syncthreads();  // whoever still reads the sums before
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

// --- elementwise
// ------------------------------------------------------------------------------------------------

/// f(r, c) for every element of a plane, a thread each.
template <class F>
__global__ void each_kernel(int64_t rows, int64_t cols, F f) {
  const int64_t stride = static_cast<int64_t>(gridDim.y) * blockDim.y,
                c = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  for (int64_t r = static_cast<int64_t>(blockIdx.y) * blockDim.y + threadIdx.y; r < rows;
       r += stride)
    f(r, c);
}

struct Plane {
  int64_t rows, cols;
};
/// The shape of equally shaped views: as one row where all are contiguous.
inline Plane plane_of(std::initializer_list<const View*> views) {
  const View& v = **views.begin();
  const bool flat =
      std::all_of(views.begin(), views.end(), [](const View* x) { return !*x || x->contiguous(); });
  return flat ? Plane{1, v.elements()} : Plane{v.rows(), v.cols()};
}

template <class F>
void each(CudaDevice& card, const char* op, Plane p, const F& f) {
  if (p.rows == 0 || p.cols == 0) return;
  constexpr int64_t kMostRows = 32768;  // of blocks; beyond that a thread takes several
  const bool wide = p.rows == 1 || p.cols >= kBlock;
  const dim3 block = wide ? dim3(kBlock, 1) : dim3(kWarp, kBlock / kWarp);
  launch(card, op, each_kernel<F>,
         dim3(blocks_of(p.cols, block.x),
              static_cast<unsigned>(std::min<int64_t>(kMostRows, blocks_of(p.rows, block.y)))),
         block, 0, p.rows, p.cols, f);
}

}  // namespace nine::cuda
