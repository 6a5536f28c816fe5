// A card: its stream, its memory, copies, and what kernels report to the host.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <string>

#include "core/tensor.h"

namespace nine::cuda {

/// Throws an Error that names the op where CUDA says no.
void check(const char* op, cudaError_t error);

/// What only a kernel can find wrong. The host hears of it when it next copies something from the
/// card, and throws then: an op's checks of numbers do not make it wait.
enum class IndexFault : int {
  embedding,
  embedding_backward,
  dropout_words,
  nll,
  nll_backward,
  head_scores,
  attention,
  count
};
struct DeviceErrors {
  unsigned long long first[static_cast<int>(
      IndexFault::count)];  ///< position << 32 | value of the first wrong index; all ones: none
  long long low[static_cast<int>(IndexFault::count)],
      limit[static_cast<int>(IndexFault::count)];  ///< valid is [low, limit)
};

/// Everything of one card. All work goes to its stream, in order.
class CudaDevice {
 public:
  /// The card with this index; made at first use.
  static CudaDevice& of(int index);
  /// The card of a view, which is made the current one.
  static CudaDevice& of(const View& v) { return of(v.device.index); }

  cudaStream_t stream() const { return stream_; }
  DeviceErrors* faults() const { return faults_; }
  int index() const { return index_; }

  /// Device memory for partial results of one op; the next op of the stream may have it again.
  /// Grows when it must. The sums of cuda/reduce.cuh use slot 0: what calls them keeps its own
  /// numbers in slot 1.
  void* scratch_bytes(size_t bytes, int slot);
  template <class T>
  T* scratch(int64_t n, int slot = 0) {
    return static_cast<T*>(scratch_bytes(static_cast<size_t>(n) * sizeof(T), slot));
  }

  /// Bytes, rows of `width` `pitch` apart. To the card without waiting, unless they are many; from
  /// the card waits, and throws what kernels have reported.
  void upload(const void* host, size_t host_pitch, void* device, size_t device_pitch, size_t width,
              size_t rows);
  void download(const void* device, size_t device_pitch, void* host, size_t host_pitch,
                size_t width, size_t rows);
  void wait();

  /// Runs `work`, which submits kernels and products to the stream, from the second time on as one
  /// CUDA graph. A graph is kept for each key: the op, and all pointers and sizes that `work`
  /// depends on. NINE_CUDA_GRAPHS=0 in the environment: submits them one by one.
  void run_graph(const std::string& key, const std::function<void()>& work);

 private:
  explicit CudaDevice(int index);
  void throw_faults();

  int index_;
  cudaStream_t stream_ = nullptr;
  DeviceErrors* faults_ = nullptr;       // on the card
  DeviceErrors* faults_seen_ = nullptr;  // on the host, where copies land
  struct Scratch {
    void* memory = nullptr;
    size_t bytes = 0;
  };
  Scratch scratch_[2];
  std::byte* staging_ = nullptr;  // page-locked, so that copies to the card need not wait
  size_t staging_used_ = 0;
  struct Graphs;
  Graphs* graphs_;
};

/// Cards that CUDA sees; 0 without a driver. `why` says why not.
int cards(std::string* why);

void* allocate(size_t bytes, int index);
void release(void* p, int index);
size_t available(int index);
void clear(void* p, size_t bytes, int index);
/// y = x byte by byte; see OpTable::copy_bytes.
void copy_bytes(const View& x, const View& y);

}  // namespace nine::cuda
