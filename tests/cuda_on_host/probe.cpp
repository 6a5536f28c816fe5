#include "tests/cuda_on_host/probe.h"

#include <string_view>

#include "core/arena.h"
#include "core/error.h"
#include "cuda/blas.cuh"
#include "cuda/launch.cuh"
#include "tests/cuda_on_host/card.h"

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

__global__ void access_kernel(int* p, int64_t at, bool store) {
  if (threadIdx.x != 0) return;
  if (store) {
    p[at] = 1;
  } else {
    p[at + 1] = p[at];
  }
}
// Block i does the i-th of two things to p[0]; p has a word of each block behind it.
enum class Do { read, write, atomic };
__global__ void blocks_kernel(int* p, Do first, Do second, int apart) {
  const int b = static_cast<int>(blockIdx.x);
  if (threadIdx.x != 0) return;
  const Do mine = b == 0 ? first : second;
  int* const word = p + 2 * apart * b;
  if (mine == Do::write) *word = b;
  if (mine == Do::read) p[8 + b] = *word;
  if (mine == Do::atomic) atomicMin(reinterpret_cast<unsigned long long*>(word), 1ull);
}
// Thread 0 writes, another one reads.
__global__ void threads_kernel(int* out, Between between, int reader) {
  int* shared = nine::cuda::shared_memory<int>();
  if (threadIdx.x == 0) shared[0] = 1;
  if (between == Between::shuffle) __shfl_xor_sync(0xffffffffu, 1, 1);
  if (between == Between::warp) __syncwarp();
  if (between == Between::block) __syncthreads();
  if (static_cast<int>(threadIdx.x) == reader) *out = shared[0];
}

__global__ void read_shared_kernel(int* out) {
  if (threadIdx.x == 0) *out = *nine::cuda::shared_memory<int>();
}

__global__ void read_kernel(const char* p, int* out) {
  if (threadIdx.x == 0) *out = *reinterpret_cast<const int*>(p);
}

// Block i stores i; then block 0 adds up what all have stored.
enum class Wait { all, none, without_one, some_threads };
__global__ void grid_kernel(int* p, Wait wait, unsigned* arrived) {
  const int b = static_cast<int>(blockIdx.x), blocks = static_cast<int>(gridDim.x);
  if (threadIdx.x == 0) p[b] = b;
  if (wait == Wait::without_one && b == 3) return;
  if (wait == Wait::some_threads && threadIdx.x >= 16) return;
  if (wait != Wait::none) grid_barrier(arrived);
  if (b != 0 || threadIdx.x != 0) return;
  int sum = 0;
  for (int i = 0; i < blocks; ++i) sum += p[i];
  p[blocks] = sum;
}

cudaStream_t stream() { return device().stream(); }
void check(cudaError_t error) { nine::cuda::check("probe", error); }
int* new_ints(int64_t n) {
  return static_cast<int*>(nine::cuda::allocate(static_cast<size_t>(n) * sizeof(int), 0));
}
int number_at(const int* p) {
  int n = 0;
  device().download(p, sizeof n, &n, sizeof n, sizeof n, 1);
  return n;
}

// Runs `work` while the stream captures, and ends that whatever it throws.
template <class Work>
void capture(const Work& work) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal));
  try {
    work();
  } catch (...) {
    check(cudaStreamEndCapture(stream(), &graph));
    check(cudaGraphDestroy(graph));
    throw;
  }
  check(cudaStreamEndCapture(stream(), &graph));
  check(cudaGraphDestroy(graph));
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
  device().wait();
}
void probe_divergent_warp() {
  launch(device(), "probe", divergent_warp_kernel, dim3(1), dim3(32), 0);
  device().wait();
}
void probe_shared_overrun() {
  launch(device(), "probe", write_kernel, dim3(1), dim3(32), 16, static_cast<char*>(nullptr), 16);
  device().wait();
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
  device().wait();
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

int64_t probe_many_graphs(int keys) {
  int* p = device().scratch<int>(1);
  const int64_t before = counts().live_graphs;
  const auto use = [&](int key) {
    device().run_graph(nine::concat("many ", key),
                       [&] { launch(device(), "probe", count_kernel, dim3(1), dim3(32), 0, p); });
  };
  for (int i = 0; i < keys; ++i) {
    for (int twice = 0; twice < 2; ++twice) use(i);
    const int64_t launched = counts().graphs;
    use(0);
    nine::require(counts().graphs == launched + 1, "the graph that is used most was dropped");
  }
  device().wait();
  return counts().live_graphs - before;
}

Deferred probe_deferred() {
  int* p = device().scratch<int>(1);
  device().wait();
  const int64_t begin = counts().launches;
  launch(device(), "probe", count_kernel, dim3(1), dim3(32), 0, p);
  const int64_t before = counts().launches - begin;
  device().wait();
  return {before, counts().launches - begin};
}
int probe_staging_overwritten() {
  int* p = new_ints(1);
  void* staged = nullptr;
  check(cudaMallocHost(&staged, sizeof(int)));
  *static_cast<int*>(staged) = 1;
  check(cudaMemcpyAsync(p, staged, sizeof(int), cudaMemcpyHostToDevice, stream()));
  *static_cast<int*>(staged) = 2;
  const int arrived = number_at(p);
  check(cudaFreeHost(staged));
  nine::cuda::release(p, 0);
  return arrived;
}
float probe_freed() {
  int* p = new_ints(16);
  check(cudaMemsetAsync(p, 0, 64, stream()));
  nine::cuda::release(p, 0);
  int* again = new_ints(16);
  const int bits = number_at(again);
  nine::cuda::release(again, 0);
  float number = 0;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}
void probe_overlapping_copy(int64_t rows_apart) {
  int* p = device().scratch<int>(64);  // rows of 8 numbers, of which 4 are copied
  check(cudaMemcpy2DAsync(p + 8 * rows_apart + 4, 32, p, 32, 16 + 4 * (rows_apart > 0), 4,
                          cudaMemcpyDeviceToDevice, stream()));
  device().wait();
}
void probe_free_in_capture() {
  int* p = new_ints(1);
  capture([&] { nine::cuda::release(p, 0); });
  device().wait();
}
void probe_pageable_copy_in_capture() {
  int* p = device().scratch<int>(1);
  int n = 0;
  capture([&] { check(cudaMemcpyAsync(p, &n, sizeof n, cudaMemcpyHostToDevice, stream())); });
}
void probe_stale_replay() {
  int* p = new_ints(1);
  const auto run = [&] {
    device().run_graph("stale",
                       [&] { launch(device(), "probe", count_kernel, dim3(1), dim3(32), 0, p); });
  };
  run();
  run();
  nine::cuda::release(p, 0);
  run();
}
void probe_other_card() {
  int* p = static_cast<int*>(nine::cuda::allocate(sizeof(int), 1));
  try {
    launch(device(), "probe", count_kernel, dim3(1), dim3(32), 0, p);
  } catch (...) {
    nine::cuda::release(p, 1);
    throw;
  }
}
void probe_other_current_card() {
  CudaDevice& first = CudaDevice::of(0);
  int* p = first.scratch<int>(1);
  CudaDevice::of(1);
  launch(first, "probe", count_kernel, dim3(1), dim3(32), 0, p);
}
void probe_card_chosen_elsewhere() {
  int* p = CudaDevice::of(0).scratch<int>(1);
  check(cudaSetDevice(1));
  launch(CudaDevice::of(0), "probe", count_kernel, dim3(1), dim3(32), 0, p);
  CudaDevice::of(0).wait();
}
void probe_misaligned() {
  int* p = device().scratch<int>(8);
  launch(device(), "probe", read_kernel, dim3(1), dim3(32), 0, reinterpret_cast<const char*>(p) + 2,
         p + 4);
  device().wait();
}

namespace {

nine::Arena& pool() {
  static nine::Arena& arena = *new nine::Arena("probe", {nine::DeviceKind::cuda, 0}, 1 << 16);
  return arena;
}
void access(int* p, int64_t at, bool store) {
  launch(device(), "probe", access_kernel, dim3(1), dim3(32), 0, p, at, store);
  device().wait();
}
int* ints_of(const nine::Tensor& t) { return static_cast<int*>(t.view().data); }
void set(int* p, int64_t n) {
  check(cudaMemsetAsync(p, 0, static_cast<size_t>(n) * sizeof(int), stream()));
}

}  // namespace

void probe_pool(int64_t at, bool store) {
  const nine::Arena::Scope scope(pool());
  pool().temporary({100}, nine::DType::int32);  // behind it
  const nine::Tensor t = pool().temporary({100}, nine::DType::int32);
  set(ints_of(t), 100);
  access(ints_of(t), at, store);
}
void probe_released_pool(const char* what) {
  const auto is = [&](std::string_view name) { return name == what; };
  int* p = nullptr;
  if (is("scope")) {
    const nine::Arena::Scope scope(pool());
    p = ints_of(pool().temporary({100}, nine::DType::int32));
  }
  if (is("block")) {
    const nine::Tensor block = pool().block({100}, nine::DType::int32);
    p = ints_of(block);
    pool().free_block(block);
  }
  if (is("saved")) {
    const nine::Arena::Mark mark = pool().saved_mark();
    p = ints_of(pool().saved({100}, nine::DType::int32));
    pool().release_saved(mark);
  }
  if (is("reset")) p = ints_of(pool().saved({100}, nine::DType::int32));
  pool().reset();
  access(p, 0, true);
}
void probe_stale_pool_replay() {
  int* p = nullptr;
  const auto run = [&] {
    device().run_graph("stale pool",
                       [&] { launch(device(), "probe", count_kernel, dim3(1), dim3(32), 0, p); });
    device().wait();
  };
  {
    const nine::Arena::Scope scope(pool());
    p = ints_of(pool().temporary({1}, nine::DType::int32));
    set(p, 1);
    for (int i = 0; i < 3; ++i) run();
  }
  run();
}
void probe_scratch(int64_t at) { access(device().scratch<int>(100), at, true); }
void probe_unwritten(const char* what) {
  const auto is = [&](std::string_view name) { return name == what; };
  int* p = new_ints(64);
  try {
    if (is("kernel")) access(p, 0, false);
    if (is("copy")) number_at(p);
    if (is("shared")) {
      launch(device(), "probe", read_shared_kernel, dim3(1), dim3(32), sizeof(int), p);
      device().wait();
    }
    if (is("product")) {
      auto* x = reinterpret_cast<float*>(p);
      set(p, 16);
      multiply(device(), "probe", nine::View(x, {4, 4}), false, nine::View(x + 16, {4, 4}), false,
               {nine::View(x + 32, {4, 4})});
      device().wait();
    }
  } catch (...) {
    nine::cuda::release(p, 0);
    throw;
  }
  nine::cuda::release(p, 0);
}
void probe_blocks(const char* what) {
  const auto is = [&](std::string_view name) { return name == what; };
  int* p = device().scratch<int>(16);
  set(p, 16);
  const bool apart = is("apart");
  const Do first = is("read write") || is("read")       ? Do::read
                   : is("atomic") || is("atomic write") ? Do::atomic
                                                        : Do::write,
           second = is("write read") || is("read") ? Do::read
                    : is("atomic")                 ? Do::atomic
                                                   : Do::write;
  launch(device(), "probe", blocks_kernel, dim3(2), dim3(32), 0, p, first, second, apart ? 1 : 0);
  device().wait();
}
void probe_threads(Between between, int apart) {
  int* p = device().scratch<int>(1);
  launch(device(), "probe", threads_kernel, dim3(1), dim3(64), sizeof(int), p, between, apart);
  device().wait();
}
int probe_grid(const char* what) {
  const auto is = [&](std::string_view name) { return name == what; };
  constexpr int kBlocks = 8;
  int* p = device().scratch<int>(kBlocks + 1);
  set(p, kBlocks + 1);
  const Wait wait = is("none")           ? Wait::none
                    : is("one leaves")   ? Wait::without_one
                    : is("some threads") ? Wait::some_threads
                                         : Wait::all;
  if (is("plain launch")) {
    launch(device(), "probe", grid_kernel, dim3(kBlocks), dim3(32), 0, p, wait,
           device().grid_barrier());
  } else {
    launch_side_by_side(device(), "probe", grid_kernel, dim3(kBlocks), dim3(32), 0, p, wait,
                        device().grid_barrier());
  }
  return number_at(p + kBlocks);
}
void probe_wrong_product(const char* what) {
  const auto is = [&](std::string_view name) { return name == what; };
  CudaDevice& d = device();
  float* p = d.scratch<float>(64, 1);
  nine::View a(p, {4, 4}), b(p + 16, {4, 4}), c(p + 32, {4, 4});
  if (is("lda")) a.ld = 3;
  if (is("alignment")) b.data = reinterpret_cast<char*>(p) + 2;
  if (is("range")) a.shape = c.shape = {1 << 20, 4};
  if (is("card")) CudaDevice::of(1);
  float host[16] = {};
  if (is("host")) a.data = host;
  multiply(d, "probe", a, false, b, false, {c});
  d.wait();
}

}  // namespace cuda_on_host
