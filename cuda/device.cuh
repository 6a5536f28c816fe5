// A CUDA device: its stream, its memory, copies, and errors that kernels report to the host.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <string>

#include "core/tensor.h"

namespace nine::cuda {

/// Throws an Error that names the op, unless CUDA's call succeeded.
void check(const char* op, cudaError_t error);

/// The wrong indices (words, targets, lengths) that kernels have found since the host last read
/// this, a column for each op. The host does not wait for these checks: it reads their result with
/// its next copy from the device, and throws then.
struct DeviceErrors {
  static constexpr int kMaxOps = 32;
  /// The first wrong index, as its position << 32 | its value; all bits set: no error.
  unsigned long long first[kMaxOps];
  /// The valid range was [low, limit), stored atomically: several blocks may find wrong indices.
  unsigned long long low[kMaxOps], limit[kMaxOps];
};
/// For kernels: where the wrong indices of one op are reported.
struct IndexErrors {
  DeviceErrors* errors;  ///< in the device's memory
  int op;                ///< its column
};

/// One GPU. All work is submitted to its stream and runs in order.
class CudaDevice {
 public:
  /// The device with this index, which becomes CUDA's current one. It is initialised at first use.
  static CudaDevice& of(int index);
  static constexpr int kMost = 64;  ///< indices are below this
  /// The device of a view.
  static CudaDevice& of(const View& v) { return of(v.device.index); }

  cudaStream_t stream() const { return stream_; }
  /// For the kernels of `op`, which is named in the error when they report one. The first call for
  /// an op gives it a column of DeviceErrors. Error: more than kMaxOps ops.
  IndexErrors index_errors(const char* op) const;
  int index() const { return index_; }
  /// What CUDA says of the device.
  int attribute(cudaDeviceAttr which) const;
  /// What grid_barrier() (cuda/launch.cuh) counts in.
  unsigned* grid_barrier() const { return arrived_; }

  /// Device memory for intermediate results of one op; the next op may overwrite it. There are two
  /// buffers, slots 0 and 1, which grow on demand. The sums of cuda/reduce.cuh use slot 0, so that
  /// ops that call them use slot 1.
  void* scratch_bytes(size_t bytes, int slot);
  template <class T>
  T* scratch(int64_t n, int slot = 0) {
    return static_cast<T*>(scratch_bytes(static_cast<size_t>(n) * sizeof(T), slot));
  }

  /// Copies `rows` rows of `width` bytes between host and device; a pitch is the bytes from one row
  /// to the next. upload() waits for the copy only when it is large. download() waits, and throws
  /// errors that kernels have reported.
  void upload(const void* host, size_t host_pitch, void* device, size_t device_pitch, size_t width,
              size_t rows);
  void download(const void* device, size_t device_pitch, void* host, size_t host_pitch,
                size_t width, size_t rows);
  /// Waits until all submitted work is done.
  void wait();

  /// Runs `work`, which submits kernels and products to the stream. The second time that a key is
  /// used, they are captured as a CUDA graph, which is launched from then on; of many keys those
  /// used last keep theirs. `key` must contain the op and all pointers and sizes that `work`
  /// depends on. NINE_CUDA_GRAPHS=0 in the environment turns graphs off.
  void run_graph(const std::string& key, const std::function<void()>& work);

 private:
  explicit CudaDevice(int index);
  void throw_errors();
  cudaGraphExec_t captured(const std::function<void()>& work);

  int index_;
  cudaStream_t stream_ = nullptr;
  DeviceErrors* errors_ = nullptr;       // in the device's memory
  DeviceErrors* host_errors_ = nullptr;  // the host's copy, in page-locked memory
  unsigned* arrived_ = nullptr;          // in the device's memory
  struct Scratch {
    void* memory = nullptr;
    size_t bytes = 0;
  };
  Scratch scratch_[2];
  std::byte* staging_ = nullptr;  // page-locked memory, from which copies need no waiting
  size_t staging_used_ = 0;
  struct Graphs;
  Graphs* graphs_;
};

/// The number of GPUs that CUDA can use. 0 without a driver; `why` (if not null) then has CUDA's
/// reason.
int visible_devices(std::string* why);

/// Whether loops over time may be one kernel whose blocks wait for each other (cuda/cuda.h).
bool uses_side_by_side();

// The entries of the op table (core/op_table.h) for memory.
void* allocate(size_t bytes, int index);
void release(void* p, int index);
size_t available(int index);
void clear(void* p, size_t bytes, int index);
/// y = x byte by byte; see OpTable::copy_bytes.
void copy_bytes(const View& x, const View& y);

}  // namespace nine::cuda
