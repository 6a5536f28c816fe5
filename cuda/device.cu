#include "cuda/device.cuh"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "cuda/cuda.h"
#include "cuda/lru_map.h"
#include "cuda/turn.cuh"

namespace nine::cuda {
namespace {

constexpr size_t kStaging = size_t{8} << 20;    // enough for the indices of some hundred batches
constexpr size_t kMaxStaged = size_t{1} << 20;  // larger copies do not go through staging_
constexpr size_t kMaxGraphs = 512;
constexpr size_t kMaxKeys = 4096;  // remembered as used once

// The names of the columns of DeviceErrors, the same on every device.
class IndexErrorNames {
 public:
  int column_of(std::string_view op) {
    const std::lock_guard lock(mutex_);
    const auto known = std::find(names_.begin(), names_.end(), op);
    const auto column = static_cast<int>(known - names_.begin());
    if (known != names_.end()) return column;
    require(column < DeviceErrors::kMaxOps, "[", op, "] more than ", DeviceErrors::kMaxOps,
            " ops check indices: raise DeviceErrors::kMaxOps");
    names_.emplace_back(op);
    return column;
  }
  std::string name_of(int column) {
    const std::lock_guard lock(mutex_);
    return names_[static_cast<size_t>(column)];
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> names_;
};
IndexErrorNames& index_error_names() {
  static IndexErrorNames names;
  return names;
}

// One row is copied without a pitch, since CUDA limits a pitch to 2 GiB and a whole tensor that
// counts as one row may be larger.
void copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
               size_t rows, cudaMemcpyKind kind, cudaStream_t stream) {
  if (rows == 1) {
    check("copy", cudaMemcpyAsync(to, from, width, kind, stream));
  } else {
    check("copy", cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, rows, kind, stream));
  }
}

bool is_on(const char* variable) {
  const char* setting = std::getenv(variable);
  return setting == nullptr || std::string_view(setting) != "0";
}
bool& graphs_on() {
  static bool on = is_on("NINE_CUDA_GRAPHS");
  return on;
}
bool& side_by_side_on() {
  static bool on = is_on("NINE_CUDA_SIDE_BY_SIDE");
  return on;
}

/// NINE_CUDA_MEMORY: for processes that share a GPU.
double share_of_memory() {
  const char* text = std::getenv("NINE_CUDA_MEMORY");
  if (text == nullptr) return 1;
  double share = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, share);
  require(error == std::errc() && stop == end && share > 0 && share <= 1, "NINE_CUDA_MEMORY=", text,
          ": must be a share of the GPU's memory, above 0 and at most 1, for example 0.1");
  return share;
}

struct Memory {
  size_t free = 0, total = 0;
};
Memory memory_of(int index) {
  CudaDevice::of(index);
  Memory m;
  check("memory", cudaMemGetInfo(&m.free, &m.total));
  return m;
}

// Asks CUDA, because another library of the program may have chosen another device since.
void set_current(int index) {
  int current = -1;
  check("device", cudaGetDevice(&current));
  if (current != index) check("device", cudaSetDevice(index));
}

}  // namespace

// Never destroyed: statics of the program may free tensors at its end.
std::recursive_mutex& turns() {
  static auto& mutex = *new std::recursive_mutex;
  return mutex;
}

Turn::Turn() : lock_(turns()) {
  if (cudaGetDevice(&device_) != cudaSuccess) {
    cudaGetLastError();
    device_ = -1;
  }
}

// Errors are ignored: the next call reports a GPU that has failed.
Turn::~Turn() {
  int now = -1;
  if (device_ < 0 || (cudaGetDevice(&now) == cudaSuccess && now == device_)) return;
  cudaSetDevice(device_);
  cudaGetLastError();
}

void check(const char* op, cudaError_t error) {
  if (error == cudaSuccess) return;
  cudaGetLastError();
  fail("[", op, "] CUDA: ", cudaGetErrorString(error));
}

int visible_devices(std::string* why) {
  int n = 0;
  const cudaError_t error = cudaGetDeviceCount(&n);
  if (error == cudaSuccess) return n;
  cudaGetLastError();
  if (why != nullptr) *why = cudaGetErrorString(error);
  return 0;
}

void use_graphs(bool on) { graphs_on() = on; }
void use_side_by_side(bool on) { side_by_side_on() = on; }
bool uses_side_by_side() { return side_by_side_on(); }

struct CudaDevice::Graphs {
  LruMap<cudaGraphExec_t> all{kMaxGraphs};
  // Keys that were used once. A graph is only captured at a key's second use: it costs more than a
  // run, and many keys never come again (batches of any length).
  LruMap<char> once{kMaxKeys};
};

CudaDevice& CudaDevice::of(int index) {
  static std::array<CudaDevice*, kMost> all{};
  require(index >= 0 && index < static_cast<int>(all.size()), "cuda:", index, " does not exist");
  CudaDevice*& device = all[static_cast<size_t>(index)];
  if (device == nullptr) {
    std::string why = "no GPU";
    const int n = visible_devices(&why);
    require(n > 0, "this machine has no GPU that CUDA can use (", why, "): set the device to cpu");
    require(index < n, "cuda:", index, " does not exist: CUDA sees ", n, n == 1 ? " GPU" : " GPUs",
            " here");
    set_current(index);
    device = new CudaDevice(index);
  }
  set_current(index);
  return *device;
}

// Never destroyed: at the end of a program CUDA may be shut down before its statics are.
CudaDevice::CudaDevice(int index) : index_(index), graphs_(new Graphs) {
  try {
    check("device", cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    check("device", cudaMallocHost(reinterpret_cast<void**>(&staging_), kStaging));
    check("device", cudaMallocHost(reinterpret_cast<void**>(&host_errors_), sizeof(DeviceErrors)));
    check("device", cudaMalloc(reinterpret_cast<void**>(&errors_), sizeof(DeviceErrors)));
    check("device", cudaMemsetAsync(errors_, 0xff, sizeof(DeviceErrors), stream_));
    check("device", cudaMalloc(reinterpret_cast<void**>(&arrived_), sizeof *arrived_));
    check("device", cudaMemsetAsync(arrived_, 0, sizeof *arrived_, stream_));
  } catch (...) {
    if (arrived_ != nullptr) release(arrived_, index);
    if (errors_ != nullptr) release(errors_, index);
    if (host_errors_ != nullptr) cudaFreeHost(host_errors_);
    if (staging_ != nullptr) cudaFreeHost(staging_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
    cudaGetLastError();
    delete graphs_;
    throw;
  }
}

void* CudaDevice::scratch_bytes(size_t bytes, int slot) {
  Scratch& s = scratch_[slot];
  if (bytes > s.bytes) {
    wait();
    if (s.memory != nullptr) check("scratch", cudaFree(std::exchange(s, {}).memory));
    const size_t rounded = std::max<size_t>(bytes * 2, size_t{1} << 20);
    s.memory = allocate(rounded, index_);
    s.bytes = rounded;
  }
#ifndef __CUDACC__  // tests/cuda_on_host: what lies behind these bytes is not the op's
  cuda_on_host::scratch_given(stream_, s.memory, bytes, s.bytes);
#endif
  return s.memory;
}

void CudaDevice::wait() { check("wait", cudaStreamSynchronize(stream_)); }

void CudaDevice::upload(const void* host, size_t host_pitch, void* device, size_t device_pitch,
                        size_t width, size_t rows) {
  const size_t bytes = width * rows, rounded = (bytes + 63) / 64 * 64;
  if (bytes > kMaxStaged) {
    copy_rows(device, device_pitch, host, host_pitch, width, rows, cudaMemcpyHostToDevice, stream_);
    wait();
    return;
  }
  if (staging_used_ + rounded > kStaging) {  // start from its beginning, after the copies in flight
    wait();
    staging_used_ = 0;
  }
  std::byte* staged = staging_ + staging_used_;
  staging_used_ += rounded;
  for (size_t r = 0; r < rows; ++r)
    std::memcpy(staged + r * width, static_cast<const std::byte*>(host) + r * host_pitch, width);
  copy_rows(device, device_pitch, staged, width, width, rows, cudaMemcpyHostToDevice, stream_);
}

void CudaDevice::download(const void* device, size_t device_pitch, void* host, size_t host_pitch,
                          size_t width, size_t rows) {
  copy_rows(host, host_pitch, device, device_pitch, width, rows, cudaMemcpyDeviceToHost, stream_);
  check("copy", cudaMemcpyAsync(host_errors_, errors_, sizeof(DeviceErrors), cudaMemcpyDeviceToHost,
                                stream_));
  wait();
  throw_errors();
}

int CudaDevice::attribute(cudaDeviceAttr which) const {
  int value = 0;
  check("device", cudaDeviceGetAttribute(&value, which, index_));
  return value;
}

IndexErrors CudaDevice::index_errors(const char* op) const {
  return {errors_, index_error_names().column_of(op)};
}

void CudaDevice::throw_errors() {
  const DeviceErrors seen = *host_errors_;
  for (int i = 0; i < DeviceErrors::kMaxOps; ++i) {
    if (seen.first[i] == ~0ull) continue;
    check("copy", cudaMemsetAsync(errors_, 0xff, sizeof(DeviceErrors), stream_));
    fail("[", index_error_names().name_of(i), "] index ", static_cast<int32_t>(seen.first[i]),
         " at position ", static_cast<int64_t>(seen.first[i] >> 32), " is outside of [",
         static_cast<int64_t>(seen.low[i]), ", ", static_cast<int64_t>(seen.limit[i]), ")");
  }
}

cudaGraphExec_t CudaDevice::captured(const std::function<void()>& work) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready{};
  check("graph", cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
  try {
    work();
  } catch (...) {
    cudaStreamEndCapture(stream_, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();  // clears the error, which the next op would throw
    throw;
  }
  check("graph", cudaStreamEndCapture(stream_, &graph));
  const cudaError_t error = cudaGraphInstantiate(&ready, graph, 0);
  cudaGraphDestroy(graph);
  check("graph", error);
  return ready;
}

void CudaDevice::run_graph(const std::string& key, const std::function<void()>& work) {
  Graphs& graphs = *graphs_;
  if (!graphs_on()) return work();
  const cudaGraphExec_t* found = graphs.all.find(key);
  if (found == nullptr) {
    if (graphs.once.find(key) == nullptr) {
      graphs.once.insert(key, 0);
      return work();
    }
    const cudaGraphExec_t ready = captured(work);
    graphs.once.erase(key);
    // One that runs is freed when it has ended.
    if (const auto dropped = graphs.all.insert(key, ready)) cudaGraphExecDestroy(*dropped);
    found = graphs.all.find(key);
  }
  check("graph", cudaGraphLaunch(*found, stream_));
}

void* allocate(size_t bytes, int index) {
  CudaDevice::of(index);
  void* p = nullptr;
  const cudaError_t error = cudaMalloc(&p, std::max<size_t>(bytes, 1));
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    const Memory m = memory_of(index);
    throw OutOfMemory(
        concat("out of memory: ", bytes_text(bytes), " were requested on cuda:", index,
               ", which has ", bytes_text(m.free), " of ", bytes_text(m.total),
               " free; smaller batches need less, or end other programs on that GPU"));
  }
  check("allocate", error);
  return p;
}

// Errors are ignored: at the end of a program CUDA may be shut down before the last tensor is
// freed. cudaFree finds the device by the address.
void release(void* p, int) {
  cudaFree(p);
  cudaGetLastError();
}

size_t available(int index) {
  const Memory m = memory_of(index);
  // The rest is for what is allocated after the pool: the optimiser's state, cuBLAS's workspace.
  const size_t most = m.free / 4 * 3;
  return std::min(most, static_cast<size_t>(share_of_memory() * static_cast<double>(m.total)));
}

void clear(void* p, size_t bytes, int index) {
  check("clear", cudaMemsetAsync(p, 0, bytes, CudaDevice::of(index).stream()));
}

void copy_bytes(const View& x, const View& y) {
  if (x.elements() == 0) return;
  const size_t element = size_of(x.dtype);
  const bool flat = x.contiguous() && y.contiguous();
  const size_t width = static_cast<size_t>(flat ? x.elements() : x.cols()) * element,
               rows = flat ? 1 : static_cast<size_t>(x.rows());
  const size_t from = flat ? width : static_cast<size_t>(x.ld) * element,
               to = flat ? width : static_cast<size_t>(y.ld) * element;
  if (x.device == kCpu) return CudaDevice::of(y).upload(x.data, from, y.data, to, width, rows);
  if (y.device == kCpu) return CudaDevice::of(x).download(x.data, from, y.data, to, width, rows);
  require(x.device == y.device, "[copy] from ", x.device, " to ", y.device,
          " is not possible directly: copy to the CPU first");
  copy_rows(y.data, to, x.data, from, width, rows, cudaMemcpyDeviceToDevice,
            CudaDevice::of(x).stream());
}

}  // namespace nine::cuda
