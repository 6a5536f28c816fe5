#include "core/caller_stream.h"

#include "core/error.h"
#include "cuda/device.cuh"
#include "cuda/turn.cuh"

namespace nine::cuda {
namespace {

// Lets later work of `second` run after the work that `first` has.
void order(cudaStream_t first, cudaStream_t second) {
  cudaEvent_t event{};
  check("stream", cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  cudaError_t error = cudaEventRecord(event, first);
  if (error == cudaSuccess) error = cudaStreamWaitEvent(second, event, 0);
  cudaEventDestroy(event);  // CUDA keeps what it needs until the event has come
  check("stream", error);
}

}  // namespace

CallerStream::CallerStream(int index, void* stream) : index_(index), stream_(stream) {
  const Turn turn;
  order(static_cast<cudaStream_t>(stream), CudaDevice::of(index).stream());
}

CallerStream::~CallerStream() {
  const Turn turn;
  try {
    order(CudaDevice::of(index_).stream(), static_cast<cudaStream_t>(stream_));
  } catch (const Error&) {  // the next call of CUDA reports a GPU that has failed
  }
}

}  // namespace nine::cuda
